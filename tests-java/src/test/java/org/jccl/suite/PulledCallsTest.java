package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Faults;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Large calls, in which ranks read the buffers of each other's callers. */
final class PulledCallsTest {
    private static final int ERRNO_EPERM = 1;
    private static final int VICTIM = 1;
    private static final int LARGE = 1 << 19;

    /** Three ranks read each other's parts from 4 MiB on. */
    private static final int GATHERED = 1 << 20;

    private static Cluster cluster() {
        return Faults.preloaded(Cluster.processes(3));
    }

    /** All-gathers, with reads that the system refuses to one rank from init on. */
    public static final class RefusedAtInit implements Scenario {
        @Override
        public void run(Rank rank) {
            if (rank.number() == VICTIM) {
                refuse(1);
            }
            try (Communicator comm = rank.init()) {
                Sums.allGather(comm, GATHERED);
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
                Sums.allGather(comm, GATHERED);
                Sums.barrier(comm);
                if (rank.number() == VICTIM) {
                    refuse(1);
                }
                Sums.allGather(comm, GATHERED);
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
                Sums.allGather(comm, GATHERED);
            }
        }
    }

    @Test
    void deathOfARankThatReadsIsKnown() {
        Outcome outcome = cluster().run(Killed.class);
        outcome.rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank " + VICTIM);
        outcome.rank(2).assertFailed(NcclResult.REMOTE_ERROR, "rank " + VICTIM);
    }

    /** All-to-alls that are in place on some ranks, each as the first call of its size. */
    public static final class InPlaceOnSome implements Scenario {
        private static final int ROUNDS = 4;

        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                EachToEach each = new EachToEach(comm, arena, LARGE);
                for (int round = 0; round < ROUNDS; round++) {
                    if (rank.number() == round % rank.nRanks()) {
                        each.inPlace(round);
                    } else {
                        each.byAllToAll(round);
                    }
                }
            }
        }
    }

    @Test
    void allToAllMayBeInPlaceOnSomeRanksOnly() {
        cluster().run(InPlaceOnSome.class).assertAllSucceeded();
        Cluster.threads(2).run(InPlaceOnSome.class).assertAllSucceeded();
    }

    /** A rank dies that others have still to read; rank 0, the root, waits for rank 1, too. */
    public static final class GiverDies implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment mine = arena.allocate(4L * LARGE, 64);
                MemorySegment all = arena.allocate(rank.nRanks() * mine.byteSize(), 64);
                Sums.barrier(comm);
                if (rank.number() == 1) {
                    rank.await("told 0");
                }
                if (rank.number() == 2) {
                    // Its flag is the last thing that it gives before it waits for the root.
                    Faults.arm(Faults.Action.KILL, Faults.Calls.ANY, 3, 0, 1);
                }
                try {
                    comm.gather(mine, all, LARGE, DataType.INT32, 0);
                } finally {
                    rank.post("told " + rank.number(), "");
                }
            }
        }
    }

    @Test
    void deathOfARankThatIsStillToBeReadIsKnownAlthoughAnotherIsLate() {
        cluster().run(GiverDies.class).rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 2");
    }

    /** Rank 1 gives memory that nobody may read. */
    public static final class BadBuffer implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try (ProtectedBuffer send = new ProtectedBuffer(4L * LARGE);
                    ProtectedBuffer recv = new ProtectedBuffer(4L * LARGE)) {
                if (rank.number() == VICTIM) {
                    send.take(true);
                }
                // In place on the root, which then does not read it itself.
                MemorySegment out = (rank.number() == VICTIM ? send : recv).segment();
                comm.broadcast(send.segment(), out, LARGE, DataType.INT32, VICTIM);
            } finally {
                rank.post("over" + rank.number(), "");
                for (int q = 0; q < rank.nRanks(); q++) {
                    rank.await("over" + q);
                }
                comm.abort();
            }
        }
    }

    @Test
    void bufferThatCannotBeReadIsNamed() {
        Outcome outcome = Cluster.processes(2).run(BadBuffer.class);
        outcome.rank(0)
                .assertFailed(
                        NcclResult.SYSTEM_ERROR,
                        "the buffer of rank " + VICTIM,
                        "pass buffers of count elements");
    }

    private static void refuse(int nth) {
        Faults.arm(Faults.Action.FAIL, Faults.Calls.READS, nth, ERRNO_EPERM, Faults.LASTING);
    }
}
