package org.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.executor.Call;
import org.jccl.executor.Task;
import org.jccl.executor.Waiter;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.platform.Memory;
import org.jccl.transport.CallRecord;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jccl.type.PeerError;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;

/** What a rank believes of the length that another one states in a round of a split. */
final class CommExchangeTest {
    /** As CommExchange has it for two ranks. */
    private static final int BLOB_BYTES = 1024 + 2;

    @ParameterizedTest
    @ValueSource(ints = {-1, BLOB_BYTES - 3, BLOB_BYTES, Integer.MIN_VALUE})
    void lengthOutsideTheMessageNamesItsSender(int length) {
        Cluster.threads(2).runHere(rank -> exchange(rank, length)).assertAllSucceeded();
    }

    private static void exchange(Rank rank, int length) throws InterruptedException {
        Creation creation =
                Comm.createBlocking(
                        rank.uniqueId("exchange"), 2, rank.number(), NcclConfig.DEFAULT);
        while (!creation.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        creation.result();
        Comm comm = creation.comm();
        try (CommExchange exchange = new CommExchange(comm)) {
            if (rank.number() == 0) {
                exchange.begin(new byte[] {1, 2, 3});
                while (!exchange.advance()) {
                    exchange.awaitActivity(100);
                }
                NcclException why = assertThrows(NcclException.class, exchange::result);
                assertEquals(PeerError.NONSENSE, why.kind());
                assertEquals("rank 1 sent an unreadable message", why.getMessage());
            } else {
                state(comm, length);
            }
        } finally {
            comm.abort();
        }
    }

    /** Takes part in the round with a message that states this length. */
    private static void state(Comm comm, int length) {
        try (Arena arena = Arena.ofConfined()) {
            long own = arena.allocate(BLOB_BYTES, 8).address();
            long all = arena.allocate(2 * BLOB_BYTES, 8).address();
            Memory.putInt(own, length);
            Call call =
                    new Call()
                            .of(Operation.ALL_GATHER)
                            .buffers(own, all)
                            .elements(BLOB_BYTES, DataType.UINT8.number())
                            .reducedBy(CallRecord.SPLIT);
            Task task = new Task().of(call, comm.planner().plan(call, false));
            comm.executor().submit(task);
            Waiter.await(comm.executor(), task, 0);
            byte[] heard = new byte[3];
            Memory.copyOut(all + 4, heard, 0, 3);
            assertEquals(3, Memory.getInt(all));
            assertArrayEquals(new byte[] {1, 2, 3}, heard);
        }
    }
}
