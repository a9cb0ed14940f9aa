package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.bootstrap.ListenerEnd;
import org.jccl.harness.Cluster;
import org.jccl.harness.Faults;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.NcclException;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;
import java.util.stream.Stream;

/**
 * The system refuses descriptors, memory or shared memory from the n-th call on, for every n of a
 * life that inits, splits and computes: the rank says what is used up, the other ranks say whose
 * fault it is, and nothing is left.
 */
final class ShortageTest {
    private static final int LARGE = 400_000;
    private static final int EACCES = 13;
    private static final int EMFILE = 24;
    private static final int ENOSPC = 28;
    private static final int ENOSYS = 38;

    private static Cluster pair() {
        return Faults.preloaded(Cluster.processes(2)).environment("JCCL_INIT_TIMEOUT", "6");
    }

    /** One life after the other, with one call more that succeeds, until all do. */
    public static final class EveryCall implements Scenario {
        private static final int ENOUGH = 200;

        @Override
        public void run(Rank rank) {
            boolean victim = rank.number() == rank.intArgument(1);
            int lives = 0;
            // Classes that are needed later must not be what there is no descriptor for.
            for (String links : List.of("shm", "tcp")) {
                life(rank, rank.uniqueId("warm " + links), links);
            }
            for (int n = 1; true; n++) {
                Sums.require(n < ENOUGH, "there is no end of it");
                NcclException why = n(rank, victim, n);
                if (victim) {
                    rank.post("met " + n, why == null ? "no" : "yes");
                    Sums.require(
                            why == null || says(why, rank.argument(2), "rank " + rank.number()),
                            "life " + n + " failed with: " + why);
                } else if (why != null) {
                    Sums.require(
                            why.getMessage().contains("rank " + rank.argument(1)),
                            "life " + n + " of the other failed with: " + why);
                }
                Faults.requireNothingHeld();
                if (rank.await("met " + n).equals("no")) {
                    break;
                }
                lives++;
            }
            rank.say("failed " + lives);
            life(rank, rank.uniqueId("after"), rank.argument(4));
        }

        private static boolean says(NcclException why, String... parts) {
            return Stream.of(parts).allMatch(String.valueOf(why.getMessage())::contains);
        }

        private static NcclException n(Rank rank, boolean victim, int n) {
            String name = "life" + n;
            UniqueId id = rank.uniqueId(name);
            rank.post(rank.number() + " has " + name, "");
            rank.await(1 - rank.number() + " has " + name);
            Faults.Calls calls = Faults.Calls.valueOf(rank.argument(0));
            int before = 0;
            if (victim && calls == Faults.Calls.NONE) {
                before = Faults.limitDescriptors(Faults.limitFor(n - 1));
            } else if (victim) {
                Faults.arm(Faults.Action.FAIL, calls, n, rank.intArgument(3), Faults.LASTING);
            }
            try {
                life(rank, id, rank.argument(4));
                return null;
            } catch (NcclException e) {
                return e;
            } finally {
                if (before > 0) {
                    Faults.limitDescriptors(before);
                } else {
                    Faults.disarm();
                }
            }
        }

        private static void life(Rank rank, UniqueId id, String links) {
            String node = links.equals("tcp") ? "node" + rank.number() : "one";
            Config config = Config.DEFAULT.withHostId(node);
            Communicator comm = Communicator.initRank(2, id, rank.number(), config);
            Communicator child = null;
            try {
                Sums.allReduce(comm, LARGE);
                child = comm.split(0, rank.number());
                Sums.allReduce(child, LARGE);
                Sums.barrier(comm);
            } finally {
                if (child != null) {
                    child.abort();
                }
                comm.abort();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "NONE, 0, RLIMIT_NOFILE, 24, shm",
        "MEMORY, 0, Cannot allocate memory, 12, shm",
    })
    void everyCallMayMeetTheLimit(String calls, int victim, String says, int errno, String links) {
        everyCall(calls, victim, says, errno, links);
    }

    @ParameterizedTest
    @Tag("stress")
    @CsvSource({
        "NONE, 1, RLIMIT_NOFILE, 24, tcp",
        "DESCRIPTORS, 0, RLIMIT_NOFILE, 24, tcp",
        "DESCRIPTORS, 1, RLIMIT_NOFILE, 24, shm",
        "MEMORY, 1, Cannot allocate memory, 12, tcp",
        "MEMORY, 1, No space left, 28, shm",
    })
    void everyCallMayMeetAnyLimit(String calls, int victim, String says, int errno, String links) {
        everyCall(calls, victim, says, errno, links);
    }

    private static void everyCall(String calls, int victim, String says, int errno, String links) {
        var ended =
                pair().run(EveryCall.class, calls, victim, says, errno, links).assertAllSucceeded();
        int lives = Integer.parseInt(ended.assertAllSaidTheSame().getFirst().split(" ")[1]);
        assertTrue(lives >= 3, "only " + lives + " lives met the limit");
    }

    /** Shared memory is refused for good. */
    public static final class WithoutSharedMemory implements Scenario {
        @Override
        public void run(Rank rank) {
            Faults.arm(
                    Faults.Action.FAIL,
                    Faults.Calls.SHARED,
                    1,
                    rank.intArgument(0),
                    Faults.LASTING);
            try (Communicator comm = rank.init()) {
                Sums.allReduce(comm, LARGE);
                Communicator child = comm.split(0, 0);
                Sums.allReduce(child, LARGE);
                child.close();
                rank.say("sent " + (comm.stats().netBytes() > 0));
            } finally {
                Faults.disarm();
            }
            Faults.requireNothingHeld();
        }
    }

    @Test
    void ranksWhoseSharedMemoryIsRefusedUseTcp() {
        for (int errno : new int[] {EACCES, ENOSYS}) {
            List<String> said =
                    pair().run(WithoutSharedMemory.class, errno)
                            .assertAllSucceeded()
                            .assertAllSaidTheSame();
            assertEquals(List.of("sent true"), said);
        }
    }

    /** A process may still listen for what it has done before. */
    private static void endListening() {
        ListenerEnd.now();
        while (Faults.descriptors() > 0) {
            Thread.onSpinWait();
        }
    }

    /** The system refuses the descriptors for listening from the n-th on, for every n. */
    public static final class Listens implements Scenario {
        private static final int MOST = 20;

        @Override
        public void run(Rank rank) {
            endListening();
            int refused = 0;
            while (!mayListen(refused + 1)) {
                refused++;
                Sums.require(refused < MOST, "there is no end of it");
                long left = Faults.descriptors();
                Sums.require(left == 0, left + " are left after refusal " + refused);
            }
            rank.say("refused " + refused);
            try (Communicator comm = rank.init()) {
                Sums.barrier(comm);
            }
        }

        private static boolean mayListen(int n) {
            Faults.arm(Faults.Action.FAIL, Faults.Calls.DESCRIPTORS, n, EMFILE, Faults.LASTING);
            try {
                Communicator.uniqueId();
                return true;
            } catch (NcclException e) {
                String why = String.valueOf(e.getMessage());
                Sums.require(why.contains("Too many open files"), why);
                return false;
            } finally {
                Faults.disarm();
            }
        }
    }

    @Test
    void aProcessThatCannotListenHoldsNothing() {
        String said =
                Faults.preloaded(Cluster.processes(1))
                        .run(Listens.class)
                        .assertAllSucceeded()
                        .assertAllSaidTheSame()
                        .getFirst();
        assertTrue(Integer.parseInt(said.split(" ")[1]) >= 3, said);
    }

    /** Rank 1 has one descriptor for its first init, then two, until that is enough. */
    public static final class FirstInits implements Scenario {
        private static final int MOST = 30;

        @Override
        public void run(Rank rank) {
            // Classes that are needed later must not be what there is no descriptor for.
            life(rank, rank.uniqueId("warm"));
            int free = 1;
            while (!right(rank, free)) {
                free++;
                Sums.require(free < MOST, "there is no end of it");
            }
            rank.say("free " + free);
            Faults.requireNothingHeld();
        }

        private static boolean right(Rank rank, int free) {
            String name = "with " + free;
            UniqueId id = rank.uniqueId(name);
            Endings.nothingHeld(rank, name);
            int before = 0;
            if (rank.number() == 1) {
                endListening();
                before = Faults.limitDescriptors(Faults.limitFor(free));
            }
            NcclException why = life(rank, id);
            if (rank.number() == 1) {
                Faults.limitDescriptors(before);
            }
            return Endings.agreed(rank, name, why, "RLIMIT_NOFILE", "ulimit -n").isEmpty();
        }

        private static @Nullable NcclException life(Rank rank, UniqueId id) {
            Config config = Config.DEFAULT.withHostId("node" + rank.number());
            try (Communicator comm = Communicator.initRank(2, id, rank.number(), config)) {
                Sums.allReduce(comm, LARGE);
                return null;
            } catch (NcclException e) {
                return e;
            }
        }
    }

    @Test
    void rankWithFewDescriptorsForItsFirstInitTellsTheOther() {
        String said =
                pair().run(FirstInits.class).assertAllSucceeded().assertAllSaidTheSame().getFirst();
        assertTrue(Integer.parseInt(said.split(" ")[1]) >= 4, said);
    }

    /** The user may watch no more descriptors by epoll. */
    public static final class WithoutWatches implements Scenario {
        @Override
        public void run(Rank rank) {
            Config config = Config.DEFAULT.withHostId("node" + rank.number());
            UniqueId id = rank.uniqueId("unwatched");
            Faults.arm(Faults.Action.FAIL, Faults.Calls.WATCHES, 1, ENOSPC, Faults.LASTING);
            try (Communicator comm = Communicator.initRank(2, id, rank.number(), config)) {
                Sums.allReduce(comm, LARGE);
            } finally {
                long refused = Faults.disarm();
                Sums.require(refused > 0 || rank.number() > 0, "nothing was refused");
            }
            Faults.requireNothingHeld();
        }
    }

    @Test
    void ranksMeetWhereNothingCanBeWatched() {
        pair().run(WithoutWatches.class).assertAllSucceeded();
    }

    /** A split fails for want of memory on rank 0; then the user of rank 1 aborts the parent. */
    public static final class SplitIsAborted implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try {
                boolean victim = rank.number() == 0;
                if (victim) {
                    Faults.arm(Faults.Action.FAIL, Faults.Calls.ALLOCATIONS, 1, ENOSPC, 1);
                }
                requireFailed(() -> comm.split(0, rank.number()), "No space left");
                Sums.require(!victim || Faults.disarm() == 1, "nothing was refused");
                rank.post("known to " + rank.number(), "");
                if (rank.number() == 1) {
                    rank.await("known to 0");
                    rank.await("known to 2");
                    comm.abort();
                    rank.post("aborted", "");
                    return;
                }
                rank.await("aborted");
                requireFailed(
                        () -> Sums.barrier(comm),
                        "rank 1 aborted ",
                        " after a split had failed: ",
                        "rank 0 gave up: ",
                        "No space left");
            } finally {
                comm.abort();
            }
        }

        private static void requireFailed(Runnable call, String... parts) {
            try {
                call.run();
            } catch (NcclException e) {
                Sums.require(EveryCall.says(e, parts), "it says: " + e.getMessage());
                return;
            }
            throw new AssertionError("it has not failed");
        }
    }

    @Test
    void whoHearsOfAnAbortHearsOfTheSplitThatHadFailed() {
        Faults.preloaded(Cluster.processes(3))
                .environment("JCCL_INIT_TIMEOUT", "6")
                .run(SplitIsAborted.class)
                .assertAllSucceeded();
    }
}
