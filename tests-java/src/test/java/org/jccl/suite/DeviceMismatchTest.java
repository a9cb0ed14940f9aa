package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.Config;
import org.jccl.device.LinkedProvider;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.transport.RegionLayout;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;

/** Ranks that call differently, while their devices do what they are told. */
final class DeviceMismatchTest {
    /** Long enough for a host to publish every call that it may publish. */
    private static final int AHEAD_MS = 500;

    private static Seat seat(Rank rank) {
        return new Seat(rank, Config.DEFAULT, LinkedProvider.device(rank.number()));
    }

    /**
     * Ranks that make so many equal calls, then so many different ones and equal ones again, which
     * their devices do as they are told. Hosts may be ahead of each other by several calls.
     */
    @ParameterizedTest
    @CsvSource({"0, 1, 0", "3, 1, 0", "9, 1, 2", "2, 1, 20", "0, 6, 0", "5, 7, 3"})
    void ranksThatCallDifferentlyAreToldSo(int equal, int different, int after) {
        Outcome outcome =
                Cluster.threads(2)
                        .deadline(60)
                        .runHere(
                                rank -> {
                                    try (Seat seat = seat(rank)) {
                                        MemorySegment data = seat.holding(10, rank.number());
                                        CountDownLatch latch = seat.busy();
                                        calls(seat, equal, () -> seat.sum(data, 10));
                                        calls(
                                                seat,
                                                different,
                                                () -> seat.sum(data, 10 - rank.number()));
                                        calls(seat, after, () -> seat.sum(data, 10));
                                        latch.countDown();
                                        seat.awaitFailure();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        for (int rank = 0; rank < 2; rank++) {
            String call = "call " + (equal + 1) + " nccl";
            outcome.rank(rank).assertFailed(NcclResult.INVALID_USAGE, call);
        }
    }

    /**
     * The root's device does not wait in a broadcast, so its host gets as far ahead as it may
     * before rank 1 comes. Neither may forget the first call, which differs, until it has compared
     * it.
     */
    @Test
    void rankThatIsFarAheadIsCompared() {
        // With the first one, as many as a host that forgets how far ahead it may be makes at once.
        int calls = 2 * RegionLayout.WORD_LINES - 1;
        Outcome outcome =
                Cluster.threads(2)
                        .deadline(60)
                        .runHere(
                                rank -> {
                                    try (Seat seat = seat(rank)) {
                                        MemorySegment data = seat.holding(10, rank.number());
                                        if (rank.number() == 1) {
                                            rank.await("ahead");
                                        }
                                        broadcasts(seat, data, 10 - rank.number(), 1);
                                        broadcasts(seat, data, 10, calls);
                                        if (rank.number() == 0) {
                                            Thread.sleep(AHEAD_MS);
                                            rank.post("ahead", "");
                                            rank.await("there");
                                        } else {
                                            seat.synchronize();
                                            rank.post("there", "");
                                        }
                                        broadcasts(seat, data, 10, calls);
                                        seat.awaitFailure();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        for (int rank = 0; rank < 2; rank++) {
            outcome.rank(rank).assertFailed(NcclResult.INVALID_USAGE, "call 1 nccl");
        }
    }

    private static void broadcasts(Seat seat, MemorySegment data, int count, int times) {
        calls(
                seat,
                times,
                () ->
                        seat.comm
                                .inStream(seat.stream)
                                .broadcast(data, data, count, DataType.INT32, 0));
    }

    /** The call that finds out that another rank has called differently throws. */
    private static void calls(Seat seat, int times, Runnable one) {
        for (int i = 0; i < times && seat.comm.asyncError() == NcclResult.SUCCESS; i++) {
            try {
                one.run();
            } catch (NcclException over) {
                assertEquals(NcclResult.INVALID_USAGE, over.result(), over.getMessage());
            }
        }
    }
}
