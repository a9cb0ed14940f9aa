package org.jccl.suite;

import org.jccl.harness.Faults;
import org.jccl.harness.Rank;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Map;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

/** How something ended on all ranks, which tell each other: right, or each with its sentence. */
final class Endings {
    private static final String RIGHT = "right";
    private static final int MEET_S = 120;

    /** By number of ranks, where the ranks of this process meet. */
    private static final Map<Integer, CyclicBarrier> MEETINGS = new ConcurrentHashMap<>();

    private Endings() {}

    /**
     * Waits for all ranks.
     *
     * @param why this rank's reason, null if all was right
     * @param parts what every rank must have been told, if any has failed
     * @return the sentences by rank, none if all was right on all ranks
     * @throws AssertionError if it was right on some, or one has not been told
     */
    static List<String> agreed(
            Rank rank, String what, @Nullable NcclException why, String... parts) {
        String name = what + " of rank ";
        rank.post(name + rank.number(), why == null ? RIGHT : String.valueOf(why.getMessage()));
        List<String> ends =
                IntStream.range(0, rank.nRanks()).mapToObj(q -> rank.await(name + q)).toList();
        if (ends.stream().allMatch(RIGHT::equals)) {
            return List.of();
        }
        for (String part : parts) {
            Sums.require(
                    ends.stream().allMatch(each -> each.contains(part)),
                    what + ": not all say \"" + part + "\":\n" + String.join("\n", ends));
        }
        return ends;
    }

    /**
     * Requires of every rank that its process holds nothing, before any of them goes on to the next
     * communicator, whose connections would count.
     */
    static void nothingHeld(Rank rank, String next) {
        Faults.requireNothingHeld();
        String name = "nothing held before " + next + " of rank ";
        rank.post(name + rank.number(), "");
        IntStream.range(0, rank.nRanks()).forEach(q -> rank.await(name + q));
    }

    /** The ranks of this process, of which there are this many, wait for each other. */
    static void meet(int ranks) {
        CyclicBarrier meeting = MEETINGS.computeIfAbsent(ranks, CyclicBarrier::new);
        try {
            meeting.await(MEET_S, TimeUnit.SECONDS);
        } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
            throw new AssertionError("the ranks of a process have not met", e);
        }
    }
}
