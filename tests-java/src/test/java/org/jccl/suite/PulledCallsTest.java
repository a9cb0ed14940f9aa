package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Faults;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;

/** Large calls, in which ranks read the buffers of each other's callers. */
final class PulledCallsTest {
    private static final int ERRNO_EPERM = 1;
    private static final int VICTIM = 1;
    private static final int LARGE = 1 << 19;

    private static Cluster cluster() {
        return Faults.preloaded(Cluster.processes(3));
    }

    /** Sums, with reads that the system refuses to one rank from init on. */
    public static final class RefusedAtInit implements Scenario {
        @Override
        public void run(Rank rank) {
            if (rank.number() == VICTIM) {
                refuse(1);
            }
            try (Communicator comm = rank.init()) {
                Sums.allReduce(comm, LARGE);
                Sums.barrier(comm);
            } finally {
                Faults.disarm();
            }
        }
    }

    @Test
    void ranksThatCannotReadEachOtherGoBySlots() {
        cluster().run(RefusedAtInit.class).assertAllSucceeded();
    }

    /** The same, refused after a first call. */
    public static final class RefusedLater implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try {
                Sums.allReduce(comm, LARGE);
                Sums.barrier(comm);
                if (rank.number() == VICTIM) {
                    refuse(1);
                }
                Sums.allReduce(comm, LARGE);
            } finally {
                Faults.disarm();
                rank.post("over" + rank.number(), "");
                for (int q = 0; q < rank.nRanks(); q++) {
                    rank.await("over" + q);
                }
                comm.abort();
            }
        }
    }

    @Test
    void rankThatMayNotReadAnyMoreSaysWhatToSet() {
        Outcome outcome = cluster().run(RefusedLater.class);
        outcome.rank(VICTIM)
                .assertFailed(
                        NcclResult.SYSTEM_ERROR,
                        "does not let this process read the memory of rank",
                        "NCCL_P2P_READ_ENABLE=0");
        outcome.rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank " + VICTIM);
        outcome.rank(2).assertFailed(NcclResult.REMOTE_ERROR, "rank " + VICTIM);
    }

    /** A rank dies at its second read of the other's memory in a call. */
    public static final class Killed implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm =
                    Communicator.initRank(
                            rank.nRanks(), rank.uniqueId("k"), rank.number(), Config.DEFAULT)) {
                Sums.barrier(comm);
                if (rank.number() == VICTIM) {
                    Faults.arm(Faults.Action.KILL, Faults.Calls.READS, 2, 0, 1);
                }
                Sums.allReduce(comm, LARGE);
            }
        }
    }

    @Test
    void deathOfARankThatReadsIsKnown() {
        Outcome outcome = cluster().run(Killed.class);
        outcome.rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank " + VICTIM);
        outcome.rank(2).assertFailed(NcclResult.REMOTE_ERROR, "rank " + VICTIM);
    }

    private static void refuse(int nth) {
        Faults.arm(Faults.Action.FAIL, Faults.Calls.READS, nth, ERRNO_EPERM, Faults.LASTING);
    }
}
