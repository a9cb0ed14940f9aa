package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.log.LogTap;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** An Error that comes while a failure is dealt with does not undo it. */
class TornFailureTest {
    private static final int COUNT = 64;
    private static final long KNOWN_WITHIN_NS = 5_000_000_000L;

    @Test
    void peersAreToldOfAFailureThatCannotBeLogged() {
        Cluster.processes(2)
                .once()
                .environment("NCCL_DEBUG", "WARN")
                .run(CannotLog.class)
                .assertAllSucceeded();
    }

    private static void sum(Communicator comm, MemorySegment data) {
        comm.allReduce(data, data, COUNT, DataType.INT32, RedOp.MAX);
    }

    /** Rank 0's peer has failed before it calls, and is named. */
    private static void requireTold(Rank rank, Communicator comm, MemorySegment data) {
        rank.await("rank 0 has failed");
        long since = System.nanoTime();
        NcclException told =
                assertThrows(
                        NcclException.class,
                        () -> {
                            while (true) {
                                sum(comm, data);
                                LockSupport.parkNanos(1_000_000);
                            }
                        });
        assertTrue(System.nanoTime() - since < KNOWN_WITHIN_NS);
        assertEquals(NcclResult.REMOTE_ERROR, told.result(), told.getMessage());
        assertTrue(String.valueOf(told.getMessage()).contains("rank 0"), told.getMessage());
    }

    /** The log throws when rank 0 tells that its time limit is over. */
    public static final class CannotLog implements Scenario {
        private int thrown;

        @Override
        public void run(Rank rank) {
            Config config = Config.DEFAULT.withTimeout(Duration.ofMillis(300));
            Communicator comm = rank.init(rank.number() == 0 ? config : Config.DEFAULT);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4 * COUNT, 64);
                if (rank.number() == 1) {
                    requireTold(rank, comm, data);
                    return;
                }
                try (LogTap _ = new LogTap(this::breaks)) {
                    NcclException late = assertThrows(NcclException.class, () -> sum(comm, data));
                    assertEquals(NcclResult.TIMEOUT, late.result(), late.getMessage());
                }
                assertNotEquals(0, thrown);
                assertNotEquals(NcclResult.SUCCESS, comm.asyncError());
                rank.post("rank 0 has failed", "");
                rank.await("done");
            } finally {
                rank.post("done", "");
                comm.abort();
            }
        }

        private void breaks(String line) {
            if (line.contains("time limit") && thrown++ == 0) {
                throw new StackOverflowError("of the test");
            }
        }
    }
}
