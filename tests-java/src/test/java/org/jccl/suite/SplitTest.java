package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.harness.Scenario;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;
import java.util.Objects;

/** Children of a communicator. */
final class SplitTest {
    static List<Cluster> clusters() {
        return List.of(
                Cluster.threads(5),
                Cluster.threads(5).nodes(2),
                Cluster.processes(4),
                Cluster.processes(3).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.processes(4).ranksPerProcess(2).nodes(2),
                Cluster.processes(4).ranksPerProcess(2).nodes(2).onDevices());
    }

    static List<Cluster> pairs() {
        return List.of(
                Cluster.threads(2),
                Cluster.processes(2),
                Cluster.processes(2).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.processes(2).onDevices());
    }

    /** Colours are parity, keys turn the order round. */
    public static final class TurnedRound implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator world = rank.init()) {
                int me = rank.number();
                try (Communicator child = Objects.requireNonNull(world.split(me % 2, -me))) {
                    int members = (rank.nRanks() + 1 - me % 2) / 2;
                    assertEquals(members, child.count());
                    assertEquals(members - 1 - me / 2, child.rank());
                    Sums.allReduce(child, 5000);
                    Sums.allGather(child, 3);
                }
                Sums.allReduce(world, 5000);
            }
        }
    }

    /** Equal keys keep the order; the last rank joins nothing; a child has a child. */
    public static final class SomeStayOut implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator world = rank.init()) {
                boolean last = rank.number() == rank.nRanks() - 1;
                Communicator child = world.split(last ? Communicator.NOCOLOR : 3, 7);
                if (last) {
                    assertNull(child);
                } else {
                    assertNotNull(child);
                    assertEquals(rank.number(), child.rank());
                    assertEquals(rank.nRanks() - 1, child.count());
                    Communicator grandchild = Objects.requireNonNull(child.split(0, 0));
                    Sums.allReduce(grandchild, 20_000);
                    child.close();
                    Sums.allReduce(grandchild, 20_000);
                    grandchild.close();
                }
                Sums.barrier(world);
            }
        }
    }

    /** The child of a communicator that does not block is there at once, and both can be polled. */
    public static final class WithoutBlocking implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator world = rank.init(InitTest.NON_BLOCKING);
            world.awaitReady(InitTest.SOON);
            Communicator child = Objects.requireNonNull(world.split(0, 0, InitTest.NON_BLOCKING));
            Sums.require(!child.asyncError().name().endsWith("ERROR"), "the child has an error");
            child.awaitReady(InitTest.SOON);
            world.awaitReady(InitTest.SOON);
            NonBlocking.allReduce(child, 30_000);
            NonBlocking.allReduce(world, 30_000);
            child.close();
            world.close();
        }
    }

    /** Rank 0 closes both while the others have not split; they hear of it. */
    public static final class ClosedAtOnce implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator world = rank.init(InitTest.NON_BLOCKING);
            world.awaitReady(InitTest.SOON);
            if (rank.number() == 0) {
                try (world;
                        Communicator child = world.split(0, 0, InitTest.NON_BLOCKING)) {
                    assertEquals(NcclResult.IN_PROGRESS, child.asyncError());
                } finally {
                    rank.post("rank 0 has closed", "");
                }
                assertThrows(NcclException.class, world::count);
                return;
            }
            rank.await("rank 0 has closed");
            try {
                world.split(0, 0, InitTest.NON_BLOCKING).awaitReady(InitTest.SOON);
            } finally {
                world.abort();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void closingACommunicatorThatIsBeingSplitEndsIt(Cluster cluster) {
        Outcome outcome = cluster.run(ClosedAtOnce.class);
        assertEquals(RankResult.End.SUCCEEDED, outcome.rank(0).end(), outcome::toString);
        outcome.rank(1).assertFailed(NcclResult.REMOTE_ERROR, "rank 0");
    }

    /** A child outlives its parent. */
    public static final class Orphan implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator world = rank.init();
            Communicator child = Objects.requireNonNull(world.split(0, 0));
            world.close();
            for (int i = 0; i < 50; i++) {
                Sums.allReduce(child, 1 + i * 500);
            }
            child.close();
        }
    }

    /** Rank 0 aborts its child before the others have split; the parent goes on. */
    public static final class ChildIsAborted implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator world = rank.init(InitTest.NON_BLOCKING);
            world.awaitReady(InitTest.SOON);
            if (rank.number() != 0) {
                rank.await("child of rank 0 is aborted");
            }
            Communicator child = Objects.requireNonNull(world.split(0, 0, InitTest.NON_BLOCKING));
            if (rank.number() == 0) {
                child.abort();
                rank.post("child of rank 0 is aborted", "");
            }
            world.awaitReady(InitTest.SOON);
            NonBlocking.allReduce(world, 30_000);
            if (rank.number() != 0) {
                child.abort();
            }
            Communicator next = Objects.requireNonNull(world.split(0, 0, InitTest.NON_BLOCKING));
            next.awaitReady(InitTest.SOON);
            world.awaitReady(InitTest.SOON);
            NonBlocking.allReduce(next, 10);
            next.close();
            world.close();
        }
    }

    /** Rank 1 splits too late; the parent is of no use any more. */
    public static final class OneSplitsTooLate implements Scenario {
        @Override
        public void run(Rank rank) {
            rank.post("up " + rank.number(), "");
            rank.await("up " + (1 - rank.number()));
            Communicator world = rank.init();
            Sums.barrier(world);
            if (rank.number() == 1) {
                rank.await("rank 0 has ended");
                world.split(0, 0);
            }
            NcclException late = assertThrows(NcclException.class, () -> world.split(0, 0));
            rank.say(late.result() + " " + late.getMessage());
            assertEquals(NcclResult.TIMEOUT, world.asyncError());
            try {
                Sums.allReduce(world, 10);
            } finally {
                rank.post("rank 0 has ended", "");
                world.abort();
            }
        }
    }

    /** Rank 0 splits, the others reduce. */
    public static final class SplitMeetsAllReduce implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator world = rank.init();
            try {
                Sums.barrier(world);
                if (rank.number() == 0) {
                    world.split(0, 0);
                } else {
                    Sums.allReduce(world, 100);
                }
                Sums.barrier(world);
            } finally {
                world.abort();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void parentSurvivesTheAbortOfAChild(Cluster cluster) {
        cluster.run(ChildIsAborted.class).assertAllSucceeded();
    }

    @Test
    void timeLimitOfASplitEndsTheParentWithItsSentence() {
        Cluster cluster = Cluster.processes(2).environment("JCCL_INIT_TIMEOUT", "4");
        Outcome outcome = cluster.run(OneSplitsTooLate.class);
        String sentence = "rank 0 waited 4 s in ncclCommSplit for rank 1 of 2 ranks";
        assertEquals(1, outcome.rank(0).said().size(), outcome::toString);
        String said = outcome.rank(0).said().getFirst();
        assertTrue(said.startsWith("TIMEOUT " + sentence), outcome::toString);
        outcome.rank(0).assertFailed(NcclResult.TIMEOUT, sentence);
        outcome.rank(1).assertFailed(NcclResult.REMOTE_ERROR, sentence);
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void splitIsNamedWhereOthersCallSomethingElse(Cluster cluster) {
        for (RankResult result : cluster.run(SplitMeetsAllReduce.class).ranks()) {
            result.assertFailed(NcclResult.INVALID_USAGE, "ncclCommSplit", "ncclAllReduce");
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void keysOrderTheRanksOfEachColour(Cluster cluster) {
        cluster.run(TurnedRound.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void ranksWithoutColourJoinNothing(Cluster cluster) {
        cluster.run(SomeStayOut.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void childOfNonBlockingSplitIsVisibleAtOnce(Cluster cluster) {
        cluster.run(WithoutBlocking.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void childOutlivesItsParent(Cluster cluster) {
        cluster.run(Orphan.class).assertAllSucceeded();
    }
}
