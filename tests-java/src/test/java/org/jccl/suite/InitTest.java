package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.harness.RunningCluster;
import org.jccl.harness.Scenario;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** From unique id to a ready communicator and to its end. */
final class InitTest {
    static final Duration SOON = Duration.ofMinutes(5);
    static final Config NON_BLOCKING = Config.DEFAULT.withBlocking(false);

    static List<Cluster> clusters() {
        return List.of(
                Cluster.threads(3),
                Cluster.threads(3).nodes(2),
                Cluster.processes(3),
                Cluster.processes(2).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.processes(4).ranksPerProcess(2).nodes(2),
                Cluster.processes(4).ranksPerProcess(2).nodes(2).onDevices(),
                Cluster.namespaces(2));
    }

    /** Init, an all-reduce, finalize, destroy; then all of it again with another id. */
    public static final class WholeLife implements Scenario {
        @Override
        public void run(Rank rank) {
            for (String id : List.of("first", "second")) {
                Communicator comm = rank.init(id, Config.DEFAULT);
                assertEquals(rank.number(), comm.rank());
                assertEquals(rank.nRanks(), comm.count());
                assertEquals(NcclResult.SUCCESS, comm.asyncError());
                Sums.allReduce(comm, 1000);
                comm.finalizeCommunicator();
                NcclException late =
                        assertThrows(NcclException.class, () -> Sums.allReduce(comm, 1));
                assertEquals(NcclResult.INVALID_ARGUMENT, late.result(), late.getMessage());
                NcclException twice = assertThrows(NcclException.class, comm::finalizeCommunicator);
                assertEquals(NcclResult.INVALID_ARGUMENT, twice.result(), twice.getMessage());
                comm.close();
            }
        }
    }

    /** Non-blocking init, operations, finalize; polled. */
    public static final class NonBlockingLife implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init(NON_BLOCKING);
            comm.awaitReady(SOON);
            for (int i = 0; i < 20; i++) {
                NonBlocking.allReduce(comm, 1 + i * 3000);
            }
            comm.finalizeCommunicator();
            comm.awaitReady(SOON);
            comm.close();
        }
    }

    /** Rank 0 inits without blocking and says what it sees until rank 1 has been let in. */
    public static final class OneComesLate implements Scenario {
        @Override
        public void run(Rank rank) {
            UniqueId id = rank.uniqueId("world");
            if (rank.number() == 1) {
                rank.await("go");
            }
            Communicator comm =
                    Communicator.initRank(rank.nRanks(), id, rank.number(), NON_BLOCKING);
            if (rank.number() == 0) {
                rank.say(comm.asyncError().name());
                NcclException early = assertThrows(NcclException.class, comm::count);
                assertEquals(NcclResult.INVALID_ARGUMENT, early.result(), early.getMessage());
                rank.say("looked");
            }
            comm.awaitReady(SOON);
            NonBlocking.allReduce(comm, 10);
            comm.close();
        }
    }

    /** Inits a communicator of one rank more than there are. */
    public static final class OneNeverComes implements Scenario {
        @Override
        public void run(Rank rank) {
            rank.post("up " + rank.number(), "");
            for (int q = 0; q < rank.nRanks(); q++) {
                rank.await("up " + q);
            }
            Communicator.initRank(rank.nRanks() + 1, rank.uniqueId("world"), rank.number());
        }
    }

    /** Rank 0 aborts an init in which a rank is missing that never comes. */
    public static final class OneAborts implements Scenario {
        @Override
        public void run(Rank rank) {
            int nRanks = rank.nRanks() + 1;
            UniqueId id = rank.uniqueId("world");
            if (rank.number() == 0) {
                Communicator comm = Communicator.initRank(nRanks, id, 0, NON_BLOCKING);
                rank.await("go");
                comm.abort();
                // Its process, where they meet, lives until all have heard.
                for (int q = 1; q < rank.nRanks(); q++) {
                    rank.await("over " + q);
                }
                return;
            }
            try {
                Communicator.initRank(nRanks, id, rank.number());
            } finally {
                rank.post("over " + rank.number(), "");
            }
        }
    }

    /** Leaves without closing its communicator. */
    public static final class LeavesItOpen implements Scenario {
        @Override
        public void run(Rank rank) {
            Sums.allReduce(rank.init(), 100_000);
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void communicatorLivesAndItsPlaceCanBeTaken(Cluster cluster) {
        cluster.run(WholeLife.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void nonBlockingCommunicatorIsPolledThroughItsLife(Cluster cluster) {
        cluster.run(NonBlockingLife.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void nonBlockingInitReturnsBeforeItsPeerComes(Cluster cluster) {
        try (RunningCluster running = cluster.start(OneComesLate.class)) {
            running.awaitSaid(0, "looked");
            running.post("go", "");
            Outcome outcome = running.await().assertAllSucceeded();
            assertEquals("IN_PROGRESS", outcome.rank(0).said().getFirst());
        }
    }

    @ParameterizedTest
    @MethodSource("processes")
    void rankThatNeverComesEndsInitByItsName(Cluster cluster) {
        Outcome outcome = cluster.environment("JCCL_INIT_TIMEOUT", "5").run(OneNeverComes.class);
        String missing = "rank " + outcome.ranks().size();
        for (RankResult result : outcome.ranks()) {
            assertEquals(RankResult.End.FAILED, result.end(), outcome::toString);
            Sums.require(result.text().contains(missing), outcome.toString());
        }
        // The rank whose limit passes first ends the others: their root has gone.
        Sums.require(
                outcome.ranks().stream().anyMatch(r -> r.result() == NcclResult.TIMEOUT),
                outcome.toString());
    }

    @Test
    void abortEndsAnInitAndTheOthersLearnOfIt() throws InterruptedException {
        Cluster cluster =
                Cluster.processes(2)
                        .environment("JCCL_INIT_TIMEOUT", "30")
                        .environment("JCCL_LATE_WARN", "0.2")
                        .environment("NCCL_DEBUG", "WARN");
        try (RunningCluster running = cluster.start(OneAborts.class)) {
            // Then both have come, and only the third is missing.
            while (!running.output().contains(" for rank 2 of 3 ranks")) {
                Thread.sleep(5);
            }
            running.post("go", "");
            running.awaitEnd(1).assertFailed(NcclResult.REMOTE_ERROR, "rank 0 aborted");
            assertEquals(RankResult.End.SUCCEEDED, running.awaitEnd(0).end());
        }
    }

    static List<Cluster> processes() {
        return List.of(
                Cluster.threads(3),
                Cluster.processes(2),
                Cluster.processes(2).onDevices(),
                Cluster.namespaces(2));
    }

    @ParameterizedTest
    @MethodSource("processes")
    void openCommunicatorDoesNotHoldTheProcess(Cluster cluster) {
        cluster.once().run(LeavesItOpen.class).assertAllSucceeded();
    }

    /** Rank 1 is later than JCCL_TIMEOUT allows. */
    public static final class WithoutALimit implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init(Config.DEFAULT.withTimeout(Duration.ZERO))) {
                if (rank.number() == 1) {
                    LockSupport.parkNanos(1_500_000_000L);
                }
                Sums.allReduce(comm, 10);
            }
        }
    }

    @Test
    void configurationWithoutALimitSetsTheEnvironmentsAside() {
        Cluster pair = Cluster.processes(2).environment("JCCL_TIMEOUT", "1");
        pair.run(WithoutALimit.class).assertAllSucceeded();
    }

    @Test
    void initAllGivesEveryRankItsNumber() {
        List<Communicator> comms = Communicator.initAll(5);
        for (int rank = 0; rank < 5; rank++) {
            assertEquals(rank, comms.get(rank).rank());
            assertEquals(5, comms.get(rank).count());
        }
        GroupTest.closeAll(comms);
    }

    @Test
    void thirtyThreeRanksOfOneThreadInitWithoutBlocking() {
        UniqueId id = Communicator.uniqueId();
        List<Communicator> comms = new ArrayList<>();
        for (int rank = 0; rank < 33; rank++) {
            comms.add(Communicator.initRank(33, id, rank, NON_BLOCKING));
        }
        comms.forEach(comm -> comm.awaitReady(SOON));
        long jobs =
                Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().startsWith("jccl-job"))
                        .count();
        Sums.require(jobs <= 4, jobs + " job threads");
        NonBlocking.allReduceAll(comms, 100);
        GroupTest.closeAll(comms);
    }

    /** Whoever polls sees an init end once: by a result that stays. */
    @Test
    void initThatFailsIsNeverSeenToSucceed() {
        for (int i = 0; i < 200; i++) {
            UniqueId id = Communicator.uniqueId();
            Communicator first = Communicator.initRank(2, id, 0, NON_BLOCKING);
            Communicator second = Communicator.initRank(2, id, 0, NON_BLOCKING);
            NcclResult seen = NcclResult.IN_PROGRESS;
            while (seen == NcclResult.IN_PROGRESS) {
                seen = second.asyncError();
            }
            assertEquals(NcclResult.INVALID_USAGE, seen, "round " + i);
            second.abort();
            first.abort();
        }
    }
}
