package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Faults;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;

/**
 * The system gives no thread where JCCL has to make one, as at a limit of processes. What was begun
 * fails and says so, the other ranks hear of it, nothing is left, and the next job works.
 */
final class NoThreadTest {
    private static final int EAGAIN = 11;
    private static final String NO_THREAD = "the system gives no thread";
    private static final Duration LONG = Duration.ofMinutes(2);
    private static final Config NON_BLOCKING = Config.DEFAULT.withBlocking(false);

    /** New processes: in others the threads are there already. */
    private static Cluster ranks(int nRanks) {
        return Faults.preloaded(Cluster.processes(nRanks)).once();
    }

    private static void refuseThreads() {
        Faults.arm(Faults.Action.FAIL, Faults.Calls.THREADS, 1, EAGAIN, Faults.LASTING);
    }

    private static void allowThreads() {
        Sums.require(Faults.disarm() > 0, "no thread was refused");
    }

    private static void requireNoThread(Communicator comm, int rank) {
        NcclResult state = comm.asyncError();
        Sums.require(state == NcclResult.SYSTEM_ERROR, "the state is " + state);
        requireFailed(comm, NcclResult.SYSTEM_ERROR, rank);
    }

    private static void requireFailed(Communicator comm, NcclResult as, int rank) {
        try {
            comm.awaitReady(LONG);
        } catch (NcclException e) {
            String said = String.valueOf(e.getMessage());
            Sums.require(e.result() == as, e.result() + " for " + said);
            Sums.require(said.contains(NO_THREAD) && said.contains("rank " + rank), said);
            return;
        }
        throw new AssertionError("it has not failed");
    }

    /** The refused call has left nothing, and the next job works. */
    private static void nextJob(Rank rank) {
        Endings.nothingHeld(rank, "next");
        try (Communicator comm = rank.init("next", NON_BLOCKING)) {
            comm.awaitReady(LONG);
            NonBlocking.allReduce(comm, 5000);
            rank.post(rank.number() + " is done", "");
            rank.await(rank.nRanks() - 1 - rank.number() + " is done");
        }
    }

    private static void awaitNoJobThread() {
        while (Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().startsWith("jccl-job"))) {
            LockSupport.parkNanos(20_000_000);
        }
    }

    /** Inits of a communicator with one rank. */
    public static final class Inits implements Scenario {
        @Override
        public void run(Rank rank) {
            UniqueId id = Communicator.uniqueId();
            for (boolean abort : new boolean[] {false, true}) {
                refuseThreads();
                Communicator comm = Communicator.initRank(1, id, 0, NON_BLOCKING);
                requireNoThread(comm, 0);
                if (abort) {
                    comm.abort();
                } else {
                    comm.close();
                }
                allowThreads();
                Sums.require(comm.asyncError() == NcclResult.SYSTEM_ERROR, "it has lost its error");
            }
            nextJob(rank);
        }
    }

    @Test
    void initThatNobodyCanRunHasFailed() {
        ranks(1).run(Inits.class).assertAllSucceeded();
    }

    /** Splits of rank 0; rank 1 waits for it. */
    public static final class Splits implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init(NON_BLOCKING);
            comm.awaitReady(LONG);
            if (rank.number() == 0) {
                awaitNoJobThread();
                refuseThreads();
                Communicator child = Objects.requireNonNull(comm.split(0, 0));
                requireNoThread(child, 0);
                requireNoThread(comm, 0);
                child.close();
                comm.close();
                allowThreads();
            } else {
                Communicator child = Objects.requireNonNull(comm.split(0, 0));
                requireFailed(comm, NcclResult.REMOTE_ERROR, 0);
                requireFailed(child, NcclResult.REMOTE_ERROR, 0);
                child.abort();
                comm.abort();
            }
            nextJob(rank);
        }
    }

    @Test
    void splitThatNobodyCanRunHasFailedOnAllRanks() {
        ranks(2).run(Splits.class).assertAllSucceeded();
    }

    private static void reduce(Communicator comm, Arena arena) {
        MemorySegment data = arena.allocate(4, 4);
        comm.allReduce(data, data, 1, DataType.INT32, RedOp.SUM);
    }

    /** Operations of rank 0; rank 1 comes only when they have failed. */
    public static final class Operates implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init(NON_BLOCKING);
            comm.awaitReady(LONG);
            try (Arena arena = Arena.ofConfined()) {
                if (rank.number() == 0) {
                    refuseThreads();
                    reduce(comm, arena);
                    requireNoThread(comm, 0);
                    rank.post("failed", "");
                    comm.close();
                    allowThreads();
                } else {
                    rank.await("failed");
                    reduce(comm, arena);
                    requireFailed(comm, NcclResult.REMOTE_ERROR, 0);
                    comm.abort();
                }
            }
            nextJob(rank);
        }
    }

    @Test
    void operationThatNobodyCanMoveHasFailedOnAllRanks() {
        ranks(2).run(Operates.class).assertAllSucceeded();
    }

    /** Two communicators that would have a thread each, where there are cores for that. */
    public static final class Shares implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init(NON_BLOCKING);
            comm.awaitReady(LONG);
            Communicator child = Objects.requireNonNull(comm.split(0, rank.number()));
            comm.awaitReady(LONG);
            child.awaitReady(LONG);
            try (Arena arena = Arena.ofConfined()) {
                if (rank.number() == 0) {
                    reduce(comm, arena);
                    refuseThreads();
                    reduce(child, arena);
                    rank.post("begun", "");
                } else {
                    rank.await("begun");
                    reduce(child, arena);
                    reduce(comm, arena);
                }
                child.awaitReady(LONG);
                comm.awaitReady(LONG);
                Faults.disarm();
                rank.post(rank.number() + " has both", "");
                rank.await(1 - rank.number() + " has both");
            }
            child.close();
            comm.close();
            nextJob(rank);
        }
    }

    @Test
    void threadOfAnotherCommunicatorMovesTheOperation() {
        ranks(2).run(Shares.class).assertAllSucceeded();
    }

    /** The other end of the connection stays. */
    public static final class Lingers implements Scenario {
        @Override
        public void run(Rank rank) {
            boolean first = rank.number() == 0;
            for (boolean abort : new boolean[] {false, true}) {
                Config config = Config.DEFAULT.withHostId("node" + rank.number());
                Communicator comm = rank.init("lingers " + abort, config);
                Sums.allReduce(comm, 5000);
                if (first) {
                    refuseThreads();
                    if (abort) {
                        comm.abort();
                    } else {
                        comm.close();
                    }
                    Faults.requireNothingHeld();
                    allowThreads();
                    rank.post("closed " + abort, "");
                } else {
                    rank.await("closed " + abort);
                    comm.close();
                }
            }
            nextJob(rank);
        }
    }

    @Test
    void connectionsOfAnEndedCommunicatorDoNotStay() {
        ranks(2).run(Lingers.class).assertAllSucceeded();
    }
}
