package org.jccl.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.util.List;

/** A wait for several operations. */
final class GroupWaitTest {
    private static final long LARGE = 4 << 20;

    /** Or a wait would sleep between the parts of what is on its way. */
    @Test
    void bytesThatMoveCountThoughNoOperationIsOver() {
        Cluster.threads(2).runHere(GroupWaitTest::movesAPart).assertAllSucceeded();
    }

    private static void movesAPart(Rank rank) {
        NcclConfig config = NcclConfig.DEFAULT;
        Creation creation = Comm.createBlocking(rank.uniqueId("s"), 2, rank.number(), config);
        while (!creation.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        creation.result();
        Comm comm = creation.comm();
        CommExecutor executor = comm.executor();
        try (Arena arena = Arena.ofConfined()) {
            // No stream thread works beside the test.
            assertTrue(executor.gate().startAttending());
            long data = arena.allocate(LARGE, 8).address();
            Operation op = rank.number() == 0 ? Operation.RECV : Operation.SEND;
            Task first = task(op, data, LARGE, 1 - rank.number());
            Task second = task(op, data, 8, 1 - rank.number());
            executor.submit(first);
            executor.submit(second);
            List<CommExecutor> executors = List.of(executor, executor);
            GroupWait wait = new GroupWait(executors, List.of(first, second));
            if (rank.number() == 1) {
                assertEquals(GroupWait.Pass.MOVED, wait.pass());
                rank.post("some is sent", "");
                rank.await("some has come");
            } else {
                rank.await("some is sent");
                assertEquals(GroupWait.Pass.MOVED, wait.pass());
                assertEquals(GroupWait.Pass.BLOCKED, wait.pass());
                rank.post("some has come", "");
            }
            assertTrue(wait.await(0));
            assertEquals(GroupWait.Pass.OVER, wait.pass());
        } finally {
            comm.abort();
        }
    }

    private static Task task(Operation op, long data, long bytes, int peer) {
        int type = DataType.UINT8.number();
        return new Task().of(new Call().of(op).buffer(data).elements(bytes, type).with(peer), null);
    }
}
