package org.jccl.abi;

import org.jccl.comm.CommState;
import org.jccl.comm.Creation;
import org.jccl.type.ErrorKind;
import org.jspecify.annotations.Nullable;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The texts that rank 0 of a team hands to the others: its first one, its second one and so on. */
final class Exchange {
    private final ConcurrentMap<Integer, CompletableFuture<String>> texts =
            new ConcurrentHashMap<>();

    /** The numbers of texts that rank 0 has given. */
    private final ConcurrentMap<String, Integer> numbers = new ConcurrentHashMap<>();

    /** How many texts each rank that has ended had given or taken, by rank. */
    private final ConcurrentMap<Integer, Integer> ended = new ConcurrentHashMap<>();

    /** Those that may wait for a rank that has ended; all threads write. */
    private final Set<Watched> inits = ConcurrentHashMap.newKeySet();

    private final int ranks;

    /** Whether rank 0 has ended (volatile). */
    private volatile boolean closed;

    /** An exchange of so many ranks. */
    Exchange(int ranks) {
        this.ranks = ranks;
    }

    int ranks() {
        return ranks;
    }

    boolean hasEnded(int rank) {
        return ended.containsKey(rank);
    }

    private CompletableFuture<String> text(int number) {
        CompletableFuture<String> text =
                texts.computeIfAbsent(number, absent -> new CompletableFuture<>());
        if (closed) {
            text.complete(GuestApi.NO_MORE);
        }
        return text;
    }

    void put(int number, String text) {
        numbers.put(text, number);
        text(number).complete(text);
    }

    /** The text; null if there is none yet after so many milliseconds. */
    @Nullable String get(int number, int ms) throws InterruptedException {
        try {
            return text(number).get(ms, TimeUnit.MILLISECONDS);
        } catch (TimeoutException none) {
            return null;
        } catch (ExecutionException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * A rank has ended. If it is rank 0, there are no more texts.
     *
     * @param had how many texts it had given or taken
     */
    void end(int rank, int had) {
        ended.putIfAbsent(rank, had);
        inits.forEach(each -> each.rankEnded(rank, had));
        if (rank == 0) {
            closed = true;
            texts.values().forEach(text -> text.complete(GuestApi.NO_MORE));
        }
    }

    /**
     * Ends the making of a communicator, whose id is a text of rank 0's, when a rank has ended and
     * never had it, now or later.
     */
    void watch(String id, Creation creation) {
        Integer number = numbers.get(id);
        if (number != null) {
            Watched watched = new Watched(number, creation);
            inits.removeIf(each -> each.creation.comm().state() != CommState.INITIALIZING);
            inits.add(watched);
            ended.forEach(watched::rankEnded);
        }
    }

    /** The making of a communicator, and the number of its id. */
    private record Watched(int number, Creation creation) {
        void rankEnded(int rank, int had) {
            if (had <= number) {
                creation.giveUp(
                        ErrorKind.RANK_LEFT_INIT.says(
                                "CommInitRank : the program of rank %s has ended before it came to"
                                        + " this communicator: see how it ended",
                                rank));
            }
        }
    }
}
