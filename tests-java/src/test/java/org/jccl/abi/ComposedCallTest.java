package org.jccl.abi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.log.LastError;
import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.NcclResult;
import org.jccl.type.Operation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Operations with copies, and those of sends and receives, between two ranks of this process. */
final class ComposedCallTest {
    private static final int INT32 = DataType.INT32.number();
    private static final int SEND = Operation.SEND.number();
    private static final int RECV = Operation.RECV.number();
    private static final int ALL_TO_ALL = Operation.ALL_TO_ALL.number();
    private static final int ALL_REDUCE = Operation.ALL_REDUCE.number();

    private final long[] comms = new long[2];
    private final long out = Subject.room(8);

    @BeforeEach
    void init() {
        long handles = Subject.room(16);
        assertEquals(0, NcclApi.commInitAll(handles, 2, 0), LastError.get());
        comms[0] = Memory.getLong(handles);
        comms[1] = Memory.getLong(handles + 8);
    }

    @AfterEach
    void abort() {
        for (long comm : comms) {
            NcclApi.commAbort(comm);
        }
    }

    private int start(int rank, long... words) {
        long at = Subject.room(8L * words.length);
        for (int i = 0; i < words.length; i++) {
            Memory.putLong(at + 8L * i, words[i]);
        }
        int code = NcclApi.startComposed(at, words.length, comms[rank], 0, out);
        // JCCL reads the words before the call returns.
        Memory.fill(at, 8L * words.length, (byte) -1);
        return code;
    }

    private long started(int rank, long... words) {
        int code = start(rank, words);
        assertTrue(code == 0 || code == NcclResult.IN_PROGRESS.code(), LastError.get());
        return code == 0 ? 0 : Memory.getLong(out);
    }

    private void await(int rank, long ticket) {
        int code = 0;
        while (ticket != 0 && (code = NcclApi.poll(comms[rank], ticket, 100)) != 0) {
            assertEquals(NcclResult.IN_PROGRESS.code(), code, LastError.get());
        }
    }

    private static long ints(int count, int first) {
        long at = Subject.room(4L * count);
        for (int i = 0; i < count; i++) {
            Memory.putInt(at + 4L * i, first + i);
        }
        return at;
    }

    /** Each call reads what the one before it has written, whatever the ranks do in between. */
    @ParameterizedTest
    @ValueSource(ints = {1, 5, 3000, 100_000})
    void callsReadAndWriteInTheirTurn(int count) {
        for (int round = 0; round < 20; round++) {
            long[] tickets = new long[2];
            long[] gaps = new long[2];
            long[] received = new long[2];
            Random random = new Random(round);
            boolean firstAhead = random.nextBoolean();
            for (int k = 0; k < 2; k++) {
                int rank = firstAhead ? k : 1 - k;
                gaps[rank] = ints(2 * count, 10 * rank);
                received[rank] = ints(count, -count);
                tickets[rank] = chain(rank, count, gaps[rank], received[rank]);
            }
            await(0, tickets[0]);
            await(1, tickets[1]);
            for (int rank = 0; rank < 2; rank++) {
                for (int i = 0; i < count; i++) {
                    int sum = 2 * 2 * i + 10;
                    assertEquals(sum, Memory.getInt(gaps[rank] + 8L * i));
                    assertEquals(10 * rank + 2 * i + 1, Memory.getInt(gaps[rank] + 8L * i + 4));
                    assertEquals(sum, Memory.getInt(received[rank] + 4L * i));
                }
            }
        }
    }

    /** Starts a sum of every other element, then an exchange of them; returns the second ticket. */
    private long chain(int rank, int count, long gaps, long received) {
        long packed = Subject.room(4L * count);
        long sent = Subject.room(4L * count);
        long[] sum = {ALL_REDUCE, packed, packed, count, INT32, 0, 0, 1, 0, 1};
        started(rank, join(sum, copy(gaps, packed, count, 8, 4), copy(packed, gaps, count, 4, 8)));
        long[] exchange = {ALL_TO_ALL, 0, 0, 0, INT32, 0, 0, 1, 2, 0};
        return started(
                rank,
                join(
                        exchange,
                        copy(gaps, sent, count, 8, 4),
                        new long[] {SEND, sent, count, INT32, 1 - rank},
                        new long[] {RECV, received, count, INT32, 1 - rank}));
    }

    private static long[] copy(long from, long to, long count, long fromStride, long toStride) {
        return new long[] {from, to, 4, 1, count, fromStride, toStride};
    }

    private static long[] join(long[]... parts) {
        List<Long> all = new ArrayList<>();
        for (long[] part : parts) {
            for (long word : part) {
                all.add(word);
            }
        }
        return all.stream().mapToLong(Long::longValue).toArray();
    }

    /** A message that was sent before is not taken for a part of the exchange. */
    @Test
    void messagesAndExchangesAreApart() {
        long message = ints(1, 7);
        long got = ints(1, 0);
        long ticketOut = Subject.room(8);
        int none = 0;
        int code = NcclApi.start(SEND, message, none, 1, INT32, 0, 1, comms[0], 0, ticketOut);
        long sending = code == 0 ? 0 : Memory.getLong(ticketOut);
        long[] tickets = new long[2];
        long[] received = new long[2];
        for (int rank = 0; rank < 2; rank++) {
            received[rank] = ints(1, 0);
            tickets[rank] =
                    started(
                            rank,
                            join(
                                    new long[] {ALL_TO_ALL, 0, 0, 0, INT32, 0, 0, 0, 2, 0},
                                    new long[] {SEND, ints(1, 100 + rank), 1, INT32, 1 - rank},
                                    new long[] {RECV, received[rank], 1, INT32, 1 - rank}));
        }
        await(0, tickets[0]);
        await(1, tickets[1]);
        assertEquals(101, Memory.getInt(received[0]));
        assertEquals(100, Memory.getInt(received[1]));
        assertEquals(0, Nccl.recv(got, 1, INT32, 0, comms[1], 0), LastError.get());
        await(0, sending);
        assertEquals(7, Memory.getInt(got));
    }

    @Test
    void whatIsNoCallIsRefusedByASentence() {
        long data = ints(4, 0);
        long[] exchange = {ALL_TO_ALL, 0, 0, 0, INT32, 0, 0, 0, 1, 0};
        long[] sum = {ALL_REDUCE, data, data, 4, INT32, 0, 0, 0, 0, 0};
        refused("the first 10 say", new long[] {ALL_REDUCE, data});
        refused("invalid operation 5", with(sum, 0, 5));
        refused("invalid operation -1", with(sum, 0, 1L << 40));
        refused("invalid type", with(sum, 4, 99));
        refused("fewer than they say", with(sum, 7, 1));
        refused("1000 copies in 10 words", with(sum, 7, 1000));
        refused("-1 copies", with(sum, 9, -1));
        refused("1 transfers of ncclAllReduce", join(with(sum, 8, 1), new long[5]));
        refused("only 10 mean something", join(sum, new long[1]));
        refused(
                "elements of 0 bytes",
                join(with(sum, 7, 1), new long[] {data, data, 0, 1, 4, 4, 4}));
        refused("in 65 dimensions", join(with(sum, 7, 1), new long[] {data, data, 4, 65, 1, 1, 1}));
        refused(
                "-4 elements along",
                join(with(sum, 7, 1), new long[] {data, data, 4, 1, -4, 4, 4}));
        refused(
                "more bytes than there can be",
                join(with(sum, 7, 1), new long[] {data, data, Long.MAX_VALUE, 0}));
        refused(
                "more bytes than there can be",
                join(with(sum, 7, 1), new long[] {data, data, 4, 1, 1L << 62, 4, 4}));
        refused(
                "more bytes than there can be",
                join(with(sum, 7, 1), new long[] {data, data, 4, 1, 2, Long.MIN_VALUE, 4}));
        refused("is no address", join(with(sum, 7, 1), new long[] {-1, data, 4, 1, 4, 4, 4}));
        refused("source of a copy", join(with(sum, 7, 1), new long[] {0, data, 4, 1, 4, 4, 4}));
        refused("target of a copy", join(with(sum, 9, 1), new long[] {data, 0, 4, 1, 4, 4, 4}));
        refused(
                "jcclSend or jcclRecv, not 4",
                join(exchange, new long[] {ALL_REDUCE, data, 1, INT32, 1}));
        refused("rank 0 sends to itself", join(exchange, new long[] {SEND, data, 1, INT32, 0}));
        refused("invalid peer 2", join(exchange, new long[] {SEND, data, 1, INT32, 2}));
        refused("argument is NULL", join(exchange, new long[] {RECV, 0, 1, INT32, 1}));
        refused("overflows", join(exchange, new long[] {RECV, data, -1, INT32, 1}));
        assertEquals(
                NcclResult.INVALID_ARGUMENT.code(), NcclApi.startComposed(0, 10, comms[0], 0, out));
        assertTrue(LastError.get().contains("words argument is NULL"), LastError.get());
    }

    private static long[] with(long[] words, int at, long word) {
        long[] changed = words.clone();
        changed[at] = word;
        return changed;
    }

    private void refused(String part, long[] words) {
        assertEquals(NcclResult.INVALID_ARGUMENT.code(), start(0, words), part);
        assertTrue(LastError.get().contains(part), part + ": " + LastError.get());
    }

    /** Random words never end the process, and leave the communicator as it was. */
    @Test
    void anyWordsAreRefusedOrStarted() {
        Random random = new Random(11);
        long data = ints(64, 0);
        for (int i = 0; i < 20_000; i++) {
            long[] words = new long[random.nextInt(40)];
            for (int k = 0; k < words.length; k++) {
                words[k] = random.nextInt(4) == 0 ? random.nextLong() : random.nextInt(12) - 1;
            }
            if (words.length > 0) {
                // A valid operation would be started.
                words[0] = random.nextBoolean() ? 1 : random.nextInt(50) + 11;
            }
            start(0, words);
        }
        long[] sum = {ALL_REDUCE, data, data, 4, INT32, 0, 0, 0, 0, 0};
        long first = started(0, sum);
        long second = started(1, sum);
        await(0, first);
        await(1, second);
    }
}
