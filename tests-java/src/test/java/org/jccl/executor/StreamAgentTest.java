package org.jccl.executor;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.comm.Operations;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;

/** Operations that nobody waits for. */
final class StreamAgentTest {
    /**
     * A receive that begins when the thread has seen that nothing is under way any more, and before
     * it has said so. Nobody polls it; the cluster's deadline is the limit.
     */
    @Test
    void operationThatBeginsAsItsThreadTurnsAwayComesToItsEnd() {
        Cluster.threads(2).runHere(StreamAgentTest::beginsInBetween).assertAllSucceeded();
    }

    private static void beginsInBetween(Rank rank) throws InterruptedException {
        NcclConfig config = NcclConfig.DEFAULT.withBlocking(false);
        Creation creation = Comm.createBlocking(rank.uniqueId("s"), 2, rank.number(), config);
        while (!creation.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        creation.result();
        Comm comm = creation.comm();
        Gate gate = comm.executor().gate();
        try (Arena arena = Arena.ofConfined()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 1) {
                rank.await("turned away");
                start(comm, Operation.SEND, data);
                rank.await("over");
                return;
            }
            // The test stands for the thread.
            assertTrue(gate.startAttending());
            long ticket = start(comm, Operation.RECV, data);
            StreamAgent.turnAway(comm.executor());
            assertTrue(gate.attended(), "nobody looks after the operation");
            rank.post("turned away", "");
            while (comm.executor().tickets().task(ticket) != null) {
                Thread.sleep(1);
            }
            rank.post("over", "");
        } finally {
            comm.abort();
        }
    }

    private static long start(Comm comm, Operation operation, long data) {
        int peer = 1 - comm.rank();
        return Operations.start(comm, operation, data, data, 1, DataType.INT32, 0, peer);
    }
}
