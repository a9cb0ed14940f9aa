package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Faults;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.harness.RunningCluster;
import org.jccl.harness.Scenario;
import org.jccl.harness.SmallShm;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Scenario S4 where the system gives too little, or a rank does not come: the result is right, or
 * every rank is told in one sentence what is used up, its limit and what to set, or who is missing.
 */
final class ScenarioS4ShortageTest {
    private static final int KIB = 1 << 10;
    private static final int ENOMEM = 12;
    private static final int ENOSPC = 28;
    private static final int ENOSYS = 38;

    /** Only a rank that nobody tells waits for so long. */
    private static final String INIT_TIMEOUT_S = "30";

    private static final int GIVE_UP_S = 200;

    /** How the ranks that were told may fail. */
    private static final Set<NcclResult> FAILURES =
            EnumSet.of(NcclResult.TIMEOUT, NcclResult.REMOTE_ERROR);

    private static Cluster cluster(int nRanks, int perProcess) {
        return Faults.preloaded(Cluster.processes(nRanks))
                .ranksPerProcess(perProcess)
                .nodes(Math.min(4, nRanks / 2))
                .environment("JCCL_INIT_TIMEOUT", INIT_TIMEOUT_S)
                .deadline(GIVE_UP_S);
    }

    /** Phases of a communicator's life that take memory, one after the other. */
    enum Phase {
        INIT,
        SENDS,
        RING
    }

    /** From init to the end; why it failed, or null. */
    private static @Nullable NcclException life(
            Rank rank, UniqueId id, int bytes, Consumer<Phase> before) {
        Communicator comm = null;
        try (Arena arena = Arena.ofConfined()) {
            before.accept(Phase.INIT);
            Config config = Config.DEFAULT;
            comm = Communicator.initRank(rank.nRanks(), id, rank.number(), config);
            EachToEach each = new EachToEach(comm, arena, bytes);
            before.accept(Phase.SENDS);
            each.byGroup(0);
            before.accept(Phase.RING);
            each.byAllToAll(1);
            each.inPlace(2);
            // A rank that has what it needs must not be done while another fails.
            Sums.barrier(comm);
            comm.close();
            return null;
        } catch (NcclException e) {
            return e;
        } finally {
            if (comm != null) {
                comm.abort();
            }
        }
    }

    private static void requireRight(Rank rank, String name, int bytes) {
        NcclException why = life(rank, rank.uniqueId(name), bytes, phase -> {});
        List<String> told = Endings.agreed(rank, name, why);
        Sums.require(told.isEmpty(), name + ":\n" + String.join("\n", told));
    }

    /**
     * Processes that may have few descriptors. Arguments: bytes for each peer; ranks of a process;
     * the limits one after the other, as "64", as "+9" for so many more than there are, or as
     * "2:+9" of process 2 alone.
     */
    public static final class FewDescriptors implements Scenario {
        @Override
        public void run(Rank rank) {
            int bytes = rank.intArgument(0);
            int perProcess = rank.intArgument(1);
            boolean first = rank.number() % perProcess == 0;
            // Classes that are needed later must not be what there is no descriptor for.
            requireRight(rank, "before", bytes);
            for (String limit : rank.argument(2).split(",")) {
                UniqueId id = rank.uniqueId("with " + limit);
                Endings.meet(perProcess);
                boolean limits = first && isOf(limit, rank.number() / perProcess);
                int before = limits ? Faults.limitDescriptors(number(limit)) : 0;
                Endings.meet(perProcess);
                NcclException why;
                try {
                    why = life(rank, id, bytes, phase -> {});
                } finally {
                    Endings.meet(perProcess);
                    if (limits) {
                        Faults.limitDescriptors(before);
                    }
                    Endings.meet(perProcess);
                }
                List<String> told =
                        Endings.agreed(rank, "with " + limit, why, "RLIMIT_NOFILE", "ulimit -n");
                rank.say(limit + (told.isEmpty() ? " right" : " refused"));
            }
            requireRight(rank, "after", bytes);
            Endings.meet(perProcess);
            Faults.requireNothingHeld();
        }

        private static boolean isOf(String limit, int process) {
            int colon = limit.indexOf(':');
            return colon < 0 || Integer.parseInt(limit.substring(0, colon)) == process;
        }

        private static int number(String limit) {
            String text = limit.substring(limit.indexOf(':') + 1);
            int number = Integer.parseInt(text);
            return text.startsWith("+") ? Faults.limitFor(number) : number;
        }
    }

    @Test
    void fewDescriptorsAreEnoughOrNamed() {
        List<String> said =
                cluster(8, 2)
                        .run(
                                FewDescriptors.class,
                                KIB,
                                2,
                                "+0,+1,+4,+9,+16,+22,0:+0,0:+1,3:+0,3:+1,3:+8,+60,64")
                        .assertAllSucceeded()
                        .assertAllSaidTheSame();
        assertTrue(
                said.containsAll(List.of("+4 refused", "3:+1 refused", "+60 right")),
                said::toString);
    }

    @ParameterizedTest
    @Tag("stress")
    @CsvSource({"32, 8, 1024", "32, 8, 1048576", "16, 1, 1024"})
    void fewDescriptorsOfManyRanksAreEnoughOrNamed(int nRanks, int perProcess, int bytes) {
        List<String> limits = new ArrayList<>();
        for (int free = 0; free < 300; free += 1 + free / 4) {
            limits.add("+" + free);
        }
        List<String> said =
                cluster(nRanks, perProcess)
                        .deadline(4 * GIVE_UP_S)
                        .run(
                                FewDescriptors.class,
                                bytes,
                                perProcess,
                                "64," + String.join(",", limits))
                        .assertAllSucceeded()
                        .assertAllSaidTheSame();
        assertTrue(said.contains("+4 refused"), said::toString);
        assertTrue(said.getLast().endsWith(" right"), said::toString);
    }

    /**
     * One allocation fails in the process of a rank, at each place of a life. Arguments: bytes for
     * each peer; ranks of a process; the rank.
     */
    public static final class OneAllocation implements Scenario {
        @Override
        public void run(Rank rank) {
            int bytes = rank.intArgument(0);
            int perProcess = rank.intArgument(1);
            boolean victim = rank.number() == rank.intArgument(2);
            for (Phase phase : Phase.values()) {
                for (int errno : new int[] {ENOSPC, ENOMEM}) {
                    String name = phase + " with " + errno;
                    NcclException why =
                            life(
                                    rank,
                                    rank.uniqueId(name),
                                    bytes,
                                    now -> {
                                        if (victim && now == phase) {
                                            arm(errno);
                                        }
                                    });
                    Sums.require(!victim || Faults.disarm() == 1, name + " has met no fault");
                    List<String> told =
                            Endings.agreed(
                                    rank,
                                    name,
                                    why,
                                    "of shared memory",
                                    "(errno " + errno + ";",
                                    "memory.max");
                    Sums.require(!told.isEmpty(), name + " has succeeded");
                    if (perProcess == 1) {
                        requireNamed(told, rank.intArgument(2));
                    }
                }
            }
            requireRight(rank, "after", bytes);
            Endings.meet(perProcess);
            Faults.requireNothingHeld();
        }

        private static void arm(int errno) {
            Faults.arm(Faults.Action.FAIL, Faults.Calls.ALLOCATIONS, 1, errno, 1);
        }

        private static void requireNamed(List<String> told, int victim) {
            for (int q = 0; q < told.size(); q++) {
                boolean named = q == victim || told.get(q).contains("rank " + victim + " ");
                Sums.require(named, "rank " + q + " is told: " + told.get(q));
            }
        }
    }

    @Test
    void allocationThatFailsOnOneRankIsKnownToAll() {
        cluster(4, 1).run(OneAllocation.class, 64 * KIB, 1, 2).assertAllSucceeded();
    }

    @ParameterizedTest
    @Tag("stress")
    @CsvSource({"8, 32768, 17", "8, 1048576, 3", "1, 32768, 30"})
    void allocationThatFailsOnOneOfManyRanksIsKnownToAll(int perProcess, int bytes, int victim) {
        cluster(perProcess == 1 ? 16 : 32, perProcess)
                .run(OneAllocation.class, bytes, perProcess, victim % (perProcess == 1 ? 16 : 32))
                .assertAllSucceeded();
    }

    /**
     * There is no memfd, and /dev/shm is small. Arguments: ranks of a process; bytes of /dev/shm;
     * bytes for each peer, one after the other.
     */
    public static final class WithoutMemfd implements Scenario {
        @Override
        public void run(Rank rank) {
            int perProcess = rank.intArgument(0);
            Faults.arm(Faults.Action.FAIL, Faults.Calls.MEMFDS, 1, ENOSYS, Faults.LASTING);
            Endings.meet(perProcess);
            for (String bytes : rank.argument(2).split(",")) {
                for (boolean byGroup : new boolean[] {false, true}) {
                    String name = bytes + (byGroup ? " by a group" : " by AlltoAll");
                    NcclException why = exchange(rank, name, Integer.parseInt(bytes), byGroup);
                    List<String> told =
                            Endings.agreed(
                                    rank,
                                    name,
                                    why,
                                    "/dev/shm",
                                    "it has " + rank.argument(1) + " bytes",
                                    "mount a larger one");
                    rank.say(name + (told.isEmpty() ? ": right" : ": refused"));
                }
            }
            Endings.meet(perProcess);
            Sums.require(Faults.disarm() > 0, "there was a memfd");
            Faults.requireNothingHeld();
        }

        private static @Nullable NcclException exchange(
                Rank rank, String name, int bytes, boolean byGroup) {
            Communicator comm = null;
            try (Arena arena = Arena.ofConfined()) {
                comm = rank.init(name, Config.DEFAULT);
                EachToEach each = new EachToEach(comm, arena, bytes);
                if (byGroup) {
                    each.byGroup(0);
                } else {
                    each.byAllToAll(1);
                    each.inPlace(2);
                }
                Sums.require(comm.stats().sharedMemoryBytes() > 0, "no mate has read anything");
                Sums.barrier(comm);
                comm.close();
                return null;
            } catch (NcclException e) {
                return e;
            } finally {
                if (comm != null) {
                    comm.abort();
                }
            }
        }
    }

    @Test
    void smallShmIsEnoughOrNamed() {
        assertEquals(
                List.of(
                        "64 by AlltoAll: right",
                        "64 by a group: refused",
                        "65536 by AlltoAll: refused",
                        "65536 by a group: refused"),
                withShm(KIB * KIB, 4, 1, "64," + 64 * KIB));
    }

    @Test
    @Tag("stress")
    void smallShmOfManyRanksIsEnoughOrNamed() {
        String sizes = "8,1024,1048576";
        for (int mib = 1; mib <= 1024; mib *= 4) {
            List<String> said = withShm(mib * KIB * KIB, 32, 8, sizes);
            boolean none = said.stream().allMatch(each -> each.endsWith(": refused"));
            boolean all = said.stream().allMatch(each -> each.endsWith(": right"));
            assertTrue(mib == 1 ? none : mib < 1024 || all, mib + " MiB: " + said);
        }
    }

    private static List<String> withShm(int shm, int nRanks, int perProcess, String sizes) {
        try (SmallShm small = SmallShm.of(shm)) {
            return cluster(nRanks, perProcess)
                    .within(small)
                    .once()
                    .run(WithoutMemfd.class, perProcess, shm, sizes)
                    .assertAllSucceeded()
                    .assertAllSaidTheSame();
        }
    }

    /**
     * A rank does not call what the others call, until they have failed. Arguments: bytes for each
     * peer; whether by a group; the rank.
     */
    public static final class OneIsAbsent implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try (Arena arena = Arena.ofConfined()) {
                EachToEach each = new EachToEach(comm, arena, rank.intArgument(0));
                boolean byGroup = Boolean.parseBoolean(rank.argument(1));
                for (int round = 0; round < 2; round++) {
                    if (round == 1 && rank.number() == rank.intArgument(2)) {
                        rank.await("over");
                    }
                    if (byGroup) {
                        each.byGroup(round);
                    } else {
                        each.byAllToAll(round);
                    }
                }
                // The others may have sent before all that the late rank needed.
                Sums.barrier(comm);
            } finally {
                comm.abort();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"1024, false, 5", "262144, true, 0"})
    void rankThatDoesNotComeIsNamedByAll(int bytes, boolean byGroup, int absent) {
        absent(8, 2, 3, bytes, byGroup, absent);
    }

    @ParameterizedTest
    @Tag("stress")
    @CsvSource({"1024, true, 13", "1024, false, 31", "1048576, true, 0", "1048576, false, 8"})
    void rankOfManyThatDoesNotComeIsNamedByAll(int bytes, boolean byGroup, int absent) {
        absent(32, 8, 30, bytes, byGroup, absent);
    }

    private static void absent(
            int nRanks, int perProcess, int limitS, int bytes, boolean byGroup, int absent) {
        String said =
                "for rank "
                        + absent
                        + ", which has not come that far; the time limit is "
                        + limitS * 1000
                        + " ms";
        try (RunningCluster running =
                cluster(nRanks, perProcess)
                        .environment("JCCL_TIMEOUT", "" + limitS)
                        .start(OneIsAbsent.class, bytes, byGroup, absent)) {
            for (int rank = 0; rank < nRanks; rank++) {
                if (rank != absent) {
                    requireTold(running.awaitEnd(rank), said);
                }
            }
            running.post("over", "");
            requireTold(running.awaitEnd(absent), said);
        }
    }

    private static void requireTold(RankResult end, String said) {
        assertTrue(FAILURES.contains(end.result()), end::toString);
        assertTrue(end.text().contains(said), end::toString);
    }
}
