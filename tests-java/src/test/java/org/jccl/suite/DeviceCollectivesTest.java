package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.Config;
import org.jccl.Group;
import org.jccl.Stream;
import org.jccl.device.LinkedCollectives;
import org.jccl.device.LinkedProvider;
import org.jccl.device.SimulatedDevice;
import org.jccl.device.SimulatedProvider;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Collectives that the ranks' devices run among themselves, on simulated devices. Figures and tests
 * on GPUs: {@code cuda/gpu-test.sh}.
 */
final class DeviceCollectivesTest {
    private static final int COUNT = 1000;
    private static final DataType TYPE = DataType.INT32;
    private static final Duration SECOND = Duration.ofSeconds(1);

    private static Cluster threads(int nRanks) {
        return Cluster.threads(nRanks).deadline(60);
    }

    private static Seat seat(Rank rank) {
        return seat(rank, Config.DEFAULT);
    }

    private static Seat seat(Rank rank, Config config) {
        return new Seat(rank, config, LinkedProvider.device(rank.number()));
    }

    /**
     * Broadcasts element by element what rank 0 has of a sum, which the host has to move in part.
     */
    private static void chain(Seat seat) {
        int n = seat.rank.nRanks();
        int me = seat.rank.number();
        int right = (me + 1) % n;
        int left = (me + n - 1) % n;
        MemorySegment sum = seat.holding(COUNT, me);
        MemorySegment passed = seat.device.memory(4L * COUNT);
        MemorySegment all = seat.device.memory(4L * COUNT * n);
        MemorySegment part = seat.device.memory(4L * COUNT);
        seat.sum(sum, COUNT);
        Group.run(
                () -> {
                    seat.comm.inStream(seat.stream).send(sum, COUNT, TYPE, right);
                    seat.comm.inStream(seat.stream).recv(passed, COUNT, TYPE, left);
                });
        seat.comm.inStream(seat.stream).allGather(passed, all, COUNT, TYPE);
        seat.comm.inStream(seat.stream).reduceScatter(all, part, COUNT, TYPE, RedOp.MAX);
        seat.comm.inStream(seat.stream).broadcast(part, part, COUNT, TYPE, n - 1);
        seat.synchronize();
        assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
        Sums.checkSum(seat.content(part), n, COUNT);
        List.of(sum, passed, all, part).forEach(seat.device::release);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void operationsOfDevicesAndOfTheHostKeepTheirOrder(int nRanks) {
        threads(nRanks)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                for (int round = 0; round < 20; round++) {
                                    chain(seat);
                                }
                            }
                        })
                .assertAllSucceeded();
    }

    /** All ranks use the host if one device does not reach the others. */
    @Test
    void ranksAgreeWhoMovesTheData() {
        threads(3)
                .runHere(
                        rank -> {
                            int number = Math.min(1, rank.number());
                            SimulatedDevice shared = LinkedProvider.device(number);
                            try (Seat seat = new Seat(rank, Config.DEFAULT, shared)) {
                                chain(seat);
                            }
                        })
                .assertAllSucceeded();
        threads(2)
                .nodes(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                chain(seat);
                            }
                        })
                .assertAllSucceeded();
        assertEquals(0, LinkedCollectives.open(), "not freed");
    }

    @Test
    void callReturnsBeforeItsStreamHasComeToIt() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.holding(COUNT, -1);
                                CountDownLatch latch = seat.busy();
                                seat.device.run(
                                        seat.stream.handle(),
                                        () ->
                                                seat.device.put(
                                                        data,
                                                        Sums.filled(
                                                                seat.host, rank.number(), COUNT)));
                                seat.sum(data, COUNT);
                                assertEquals(-1, seat.content(data).get(ValueLayout.JAVA_INT, 0));
                                latch.countDown();
                                seat.synchronize();
                                Sums.checkSum(seat.content(data), 2, COUNT);
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
    }

    /** The streams of a communicator's operations need not know of each other. */
    @Test
    void operationsInSeveralStreamsRunOneByOne() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                Stream other = new Stream(seat.device.openStream());
                                MemorySegment data = seat.holding(COUNT, rank.number());
                                MemorySegment all = seat.device.memory(8L * COUNT);
                                CountDownLatch latch = seat.busy();
                                seat.sum(data, COUNT);
                                seat.comm.inStream(other).allGather(data, all, COUNT, TYPE);
                                latch.countDown();
                                seat.device.synchronize(other.handle());
                                MemorySegment content = seat.content(all);
                                Sums.checkSum(content.asSlice(0, 4L * COUNT), 2, COUNT);
                                Sums.checkSum(content.asSlice(4L * COUNT), 2, COUNT);
                                List.of(data, all).forEach(seat.device::release);
                                seat.device.closeStream(other.handle());
                            }
                        })
                .assertAllSucceeded();
    }

    /** A graph runs as often as its owner likes, and the host does not take part. */
    @Test
    void capturedOperationsRunWithTheirGraph() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                SimulatedDevice device = LinkedProvider.device(rank.number());
                                long stream = seat.stream.handle();
                                MemorySegment data = seat.holding(COUNT, rank.number());
                                seat.sum(data, COUNT);
                                seat.synchronize();
                                device.put(data, Sums.filled(seat.host, rank.number(), COUNT));
                                device.capture(stream);
                                seat.sum(data, 0);
                                seat.sum(data, COUNT);
                                List<Runnable> graph = device.endCapture(stream);
                                assertEquals(1, graph.size());
                                for (int round = 0; round < 3; round++) {
                                    device.put(data, Sums.filled(seat.host, rank.number(), COUNT));
                                    graph.forEach(kernel -> device.run(stream, kernel));
                                    seat.synchronize();
                                    Sums.checkSum(seat.content(data), 2, COUNT);
                                }
                                seat.sum(data, COUNT);
                                seat.synchronize();
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
    }

    @Test
    void operationsOfGraphsAloneLeaveNothingBehind() {
        threads(2)
                .runHere(
                        rank -> {
                            SimulatedDevice device = LinkedProvider.device(rank.number());
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.holding(1, rank.number());
                                device.capture(seat.stream.handle());
                                seat.sum(data, 1);
                                device.endCapture(seat.stream.handle());
                                seat.device.release(data);
                            }
                            Seat.requireNothingLeft(device);
                        })
                .assertAllSucceeded();
    }

    /** The stream of a rank whose peer never comes goes on after abort, and nothing is written. */
    @Test
    void abortStopsTheDevice() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                if (rank.number() == 1) {
                                    rank.await("aborted");
                                    return;
                                }
                                MemorySegment data = seat.holding(COUNT, 7);
                                seat.sum(data, COUNT);
                                Thread.sleep(50);
                                seat.comm.abort();
                                seat.synchronize();
                                seat.requireUntouched(data);
                            } finally {
                                rank.post("aborted", "");
                            }
                        })
                .assertAllSucceeded();
    }

    @Test
    void timeLimitNamesTheRankThatHasNotCome() {
        Outcome outcome =
                threads(3)
                        .runHere(
                                rank -> {
                                    Config config = Config.DEFAULT.withTimeout(SECOND);
                                    try (Seat seat = seat(rank, config)) {
                                        MemorySegment data = seat.holding(10, rank.number());
                                        seat.sum(data, 10);
                                        seat.synchronize();
                                        if (rank.number() != 2) {
                                            seat.sum(data, 10);
                                        }
                                        seat.awaitFailure();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        // One rank finds it out, and tells the others.
        RankResult first =
                outcome.ranks().stream()
                        .filter(each -> each.result() == NcclResult.TIMEOUT)
                        .findFirst()
                        .orElseThrow();
        first.assertFailed(
                NcclResult.TIMEOUT,
                "in call 2 ncclAllReduce(10 x ncclInt32",
                "for rank 2, which has not come that far");
    }

    @Test
    void rankThatGivesUpEndsTheOperationOfTheOthers() {
        Outcome outcome =
                threads(2)
                        .runHere(
                                rank -> {
                                    try (Seat seat = seat(rank)) {
                                        MemorySegment data = seat.holding(10, rank.number());
                                        if (rank.number() == 1) {
                                            rank.await("called");
                                            seat.comm.abort();
                                            return;
                                        }
                                        seat.sum(data, 10);
                                        rank.post("called", "");
                                        seat.awaitFailure();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        outcome.rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 1");
    }

    /** A rank that has left has done its part, even if this rank's device is not done. */
    @Test
    void rankThatHasLeftIsNotMissed() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.holding(COUNT, rank.number());
                                CountDownLatch latch = new CountDownLatch(rank.number());
                                LinkedProvider.device(rank.number()).holdKernels(latch);
                                seat.sum(data, COUNT);
                                if (rank.number() == 1) {
                                    rank.await("left");
                                    // Longer than a rank is in doubt; nobody tells of no verdict.
                                    Thread.sleep(1500);
                                }
                                NcclResult meanwhile = seat.comm.asyncError();
                                latch.countDown();
                                assertEquals(NcclResult.SUCCESS, meanwhile);
                                seat.synchronize();
                                Sums.checkSum(seat.content(data), 2, COUNT);
                                seat.device.release(data);
                            }
                            rank.post("left", "");
                        })
                .assertAllSucceeded();
    }

    @Test
    void whatTheDeviceRefusesIsNotUnderWay() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.holding(COUNT, rank.number());
                                if (rank.number() == 0) {
                                    LinkedProvider.device(0).refuse("launch", 0);
                                    NcclException e =
                                            assertThrows(
                                                    NcclException.class,
                                                    () -> seat.sum(data, COUNT));
                                    assertEquals(NcclResult.UNHANDLED_CUDA_ERROR, e.result());
                                }
                                seat.sum(data, COUNT);
                                seat.synchronize();
                                Sums.checkSum(seat.content(data), 2, COUNT);
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
    }

    /** What was given before waits for more for ever, so the communicator fails. */
    @Test
    void whatTheDeviceRefusesInPartFailsOnAllRanks() {
        Outcome outcome =
                threads(2)
                        .runHere(
                                rank -> {
                                    SimulatedDevice device =
                                            LinkedProvider.device(2 + rank.number());
                                    try (Seat seat = new Seat(rank, Config.DEFAULT, device)) {
                                        MemorySegment data = seat.holding(COUNT, 0);
                                        if (rank.number() == 0) {
                                            device.refuse("a later part", 0);
                                        }
                                        seat.sum(data, COUNT);
                                        seat.awaitFailure();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        outcome.rank(0).assertFailed(NcclResult.UNHANDLED_CUDA_ERROR, "a later part");
        outcome.rank(1).assertFailed(NcclResult.REMOTE_ERROR, "rank 0");
    }

    /** A stop is for what is under way: after one, memory is kept that others may write to. */
    @Test
    void communicatorThatHasNothingUnderWayIsNotStopped() {
        long before = LinkedCollectives.stops();
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.holding(COUNT, rank.number());
                                seat.sum(data, COUNT);
                                seat.synchronize();
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
        assertEquals(before, LinkedCollectives.stops());
    }

    @Test
    void kindsOfDevicesAreNotMixed() {
        threads(2)
                .runHere(
                        rank -> {
                            SimulatedDevice device =
                                    rank.number() == 0
                                            ? LinkedProvider.device(0)
                                            : SimulatedProvider.device(1);
                            NcclException e =
                                    assertThrows(
                                            NcclException.class,
                                            () -> new Seat(rank, Config.DEFAULT, device));
                            assertEquals(NcclResult.INVALID_USAGE, e.result());
                        })
                .assertAllSucceeded();
    }
}
