package org.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.call.Call;
import org.jccl.executor.Task;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.platform.Memory;
import org.jccl.progress.Wait;
import org.jccl.transport.CallRecord;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;

/** The rounds of a split: short and long messages, and lengths that cannot be. */
final class CommExchangeTest {
    private static final int LONG_BYTES = CommExchange.longBytes(2);
    private static final byte[] SAID = {1, 2, 3};

    /** The length that rank 1 states in its short message and, unless -2, in its long one. */
    @ParameterizedTest
    @CsvSource({
        "-1, -2",
        "509, -2",
        "512, -2",
        "-2147483648, -2",
        "61, -1",
        "508, 509",
        "61, 2147483647"
    })
    void lengthOutsideTheMessageNamesItsSender(int inShort, int inLong) {
        Cluster.threads(2)
                .runHere(
                        rank ->
                                with(
                                        rank,
                                        comm -> {
                                            if (rank.number() == 0) {
                                                refuse(comm);
                                            } else {
                                                state(comm, CommExchange.SHORT_BYTES, inShort);
                                                if (inLong != -2) {
                                                    state(comm, LONG_BYTES, inLong);
                                                }
                                            }
                                        }))
                .assertAllSucceeded();
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "60, 60", "61, 0", "3, 61", "508, 508", "60, 508"})
    void everyRankHearsTheWholeOfEveryMessage(int first, int second) {
        int[] lengths = {first, second};
        Cluster.threads(2)
                .runHere(rank -> with(rank, comm -> exchangeThrice(comm, lengths)))
                .assertAllSucceeded();
    }

    private static void exchangeThrice(Comm comm, int[] lengths) {
        try (CommExchange exchange = new CommExchange(comm)) {
            for (int round = 0; round < 3; round++) {
                exchange.begin(message(comm.rank(), round, lengths));
                while (!exchange.advance()) {
                    exchange.awaitActivity(100);
                }
                for (int q = 0; q < 2; q++) {
                    assertArrayEquals(message(q, round, lengths), exchange.result()[q]);
                }
            }
        }
    }

    /** In round 1 the ranks swap their lengths. */
    private static byte[] message(int rank, int round, int[] lengths) {
        byte[] bytes = new byte[lengths[(rank + round) % 2]];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i + 7 * rank + 31 * round);
        }
        return bytes;
    }

    private interface Body {
        void run(Comm comm) throws InterruptedException;
    }

    private static void with(Rank rank, Body body) throws InterruptedException {
        Creation creation =
                Creation.initBlocking(
                        rank.uniqueId("exchange"), 2, rank.number(), NcclConfig.DEFAULT);
        while (!creation.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        creation.result();
        Comm comm = creation.comm();
        try {
            body.run(comm);
            rank.post("done" + rank.number(), "");
            rank.await("done" + (1 - rank.number()));
        } finally {
            comm.abort();
        }
    }

    private static void refuse(Comm comm) {
        try (CommExchange exchange = new CommExchange(comm)) {
            exchange.begin(SAID);
            NcclException why =
                    assertThrows(
                            NcclException.class,
                            () -> {
                                while (!exchange.advance()) {
                                    exchange.awaitActivity(100);
                                }
                                exchange.result();
                            });
            assertEquals(ErrorKind.NONSENSE, why.kind());
            assertEquals("rank 1 sent an unreadable message", why.getMessage());
        }
    }

    /** Takes part in an all-gather of a round with a message that states this length. */
    private static void state(Comm comm, int bytes, int length) {
        try (Arena arena = Arena.ofConfined()) {
            long own = arena.allocate(bytes, 8).address();
            long all = arena.allocate(2L * bytes, 8).address();
            Memory.putInt(own, length);
            Call call =
                    new Call()
                            .of(Operation.ALL_GATHER)
                            .buffers(own, all)
                            .elements(bytes, DataType.UINT8.number())
                            .reducedBy(CallRecord.SPLIT);
            Task task = new Task().of(call, comm.planner().plan(call, false));
            comm.executor().submit(task);
            Wait.of(comm.executor(), task).await(0);
            byte[] heard = new byte[SAID.length];
            Memory.copyOut(all + 4, heard, 0, heard.length);
            assertEquals(SAID.length, Memory.getInt(all));
            assertArrayEquals(SAID, heard);
        }
    }
}
