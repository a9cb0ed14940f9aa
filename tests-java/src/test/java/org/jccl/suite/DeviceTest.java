package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.Stream;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.PreMulSum;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;

/** Communicators on a device: calls return before their work is done, and streams keep order. */
final class DeviceTest {
    private static final int LARGE = 1 << 20;

    private static Cluster two() {
        return Cluster.threads(2).deadline(60);
    }

    /** Every operation, with other data for each rank, in a chain that nobody waits for. */
    private static void chain(Seat seat, int count) {
        int n = seat.rank.nRanks();
        int me = seat.rank.number();
        Communicator comm = seat.comm;
        DataType type = DataType.INT32;
        MemorySegment sum = seat.holding(count, me);
        MemorySegment part = seat.device.memory(4L * count);
        MemorySegment all = seat.device.memory(4L * count * n);
        MemorySegment sent = seat.device.memory(4L * count * n);
        seat.sum(sum, count);
        comm.inStream(seat.stream).broadcast(sum, part, count, type, n - 1);
        MemorySegment own = all.asSlice(4L * count * me, 4L * count);
        seat.device.run(seat.stream.handle(), () -> seat.device.put(own, seat.content(part)));
        comm.inStream(seat.stream).allGather(own, all, count, type);
        Group.run(
                () -> {
                    for (int q = 0; q < n; q++) {
                        long at = 4L * count * q;
                        comm.inStream(seat.stream)
                                .send(all.asSlice(at, 4L * count), count, type, q);
                    }
                    for (int q = 0; q < n; q++) {
                        long at = 4L * count * q;
                        comm.inStream(seat.stream)
                                .recv(sent.asSlice(at, 4L * count), count, type, q);
                    }
                });
        comm.inStream(seat.stream).reduceScatter(sent, part, count, type, RedOp.MAX);
        seat.synchronize();
        assertEquals(NcclResult.SUCCESS, comm.asyncError());
        Sums.checkSum(seat.content(part), n, count);
        for (int q = 0; q < n; q++) {
            MemorySegment slice = seat.content(sent).asSlice(4L * count * q, 4L * count);
            Sums.checkSum(slice, n, count);
        }
        List.of(sum, part, all, sent).forEach(seat.device::release);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 5})
    void operationsOfAStreamFollowEachOtherWithoutTheHost(int nRanks) {
        for (Cluster cluster :
                List.of(Cluster.threads(nRanks), Cluster.threads(nRanks).nodes(nRanks))) {
            cluster.runHere(
                            rank -> {
                                try (Seat seat = new Seat(rank)) {
                                    for (int count : new int[] {1, 3000, 1 << 18}) {
                                        chain(seat, count);
                                    }
                                }
                                Seat.requireNothingLeft(rank.number());
                            })
                    .assertAllSucceeded();
        }
    }

    @Test
    void callReturnsBeforeItsStreamHasComeToIt() {
        two().runHere(
                        rank -> {
                            try (Seat seat = new Seat(rank)) {
                                MemorySegment data = seat.holding(LARGE, -1);
                                CountDownLatch latch = seat.busy();
                                seat.device.run(
                                        seat.stream.handle(),
                                        () ->
                                                seat.device.put(
                                                        data,
                                                        Sums.filled(
                                                                seat.host, rank.number(), LARGE)));
                                seat.sum(data, LARGE);
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                assertEquals(-1, seat.content(data).get(ValueLayout.JAVA_INT, 0));
                                latch.countDown();
                                seat.synchronize();
                                Sums.checkSum(seat.content(data), 2, LARGE);
                                seat.device.release(data);
                            }
                            Seat.requireNothingLeft(rank.number());
                        })
                .assertAllSucceeded();
    }

    /** Rank 0 frees memory while it waits for rank 1. */
    public static final class FreesMeanwhile implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            try (Communicator comm = rank.init();
                    Place place = Place.of(comm)) {
                UsedDevice device = UsedDevice.number(comm.device());
                MemorySegment data = place.holding(Sums.filled(place.host(), rank.number(), LARGE));
                MemorySegment other = device.memory(64);
                if (rank.number() == 1) {
                    rank.await("called");
                    // Nothing tells that rank 0 waits within its next call.
                    Thread.sleep(50);
                }
                comm.inStream(place.stream())
                        .allReduce(data, data, LARGE, DataType.INT32, RedOp.SUM);
                if (rank.number() == 0) {
                    rank.post("called", "");
                    device.freeWhenIdle(other);
                }
                place.await();
                Sums.checkSum(place.get(data), 2, LARGE);
            }
        }
    }

    @Test
    void operationEndsWhileAllCallsOfTheDeviceWait() {
        Cluster.processes(2)
                .onDevices()
                .once()
                .deadline(60)
                .run(FreesMeanwhile.class)
                .assertAllSucceeded();
    }

    /** Another thread frees memory while calls are made, one by one and two in a group. */
    public static final class FreesAllTheTime implements Scenario {
        private static final int CALLS = 50;
        private static final int SMALL = 1000;

        @Override
        public void run(Rank rank) throws Exception {
            try (Communicator one = rank.init("one", Config.DEFAULT);
                    Communicator other = rank.init("other", Config.DEFAULT);
                    Place place = Place.of(one)) {
                UsedDevice device = UsedDevice.number(one.device());
                AtomicBoolean over = new AtomicBoolean();
                FutureTask<Boolean> frees =
                        new FutureTask<>(
                                () -> {
                                    while (!over.get()) {
                                        device.freeWhenIdle(device.memory(64));
                                    }
                                },
                                true);
                MemorySegment content = Sums.filled(place.host(), rank.number(), SMALL);
                MemorySegment data = place.holding(content);
                MemorySegment more = place.holding(content);
                Thread.ofPlatform().name("frees").daemon().start(frees);
                for (int call = 0; call < CALLS; call++) {
                    place.give(data, content);
                    place.give(more, content);
                    if (call % 2 == 0) {
                        sum(one, data, place);
                        sum(other, more, place);
                    } else {
                        Group.run(
                                () -> {
                                    sum(one, data, place);
                                    sum(other, more, place);
                                });
                    }
                    // Then nothing is under way, and nobody looks after the communicators.
                    place.await();
                    Sums.checkSum(place.get(data), 2, SMALL);
                    Sums.checkSum(place.get(more), 2, SMALL);
                }
                over.set(true);
                frees.get();
            }
        }

        private static void sum(Communicator comm, MemorySegment data, Place place) {
            comm.inStream(place.stream()).allReduce(data, data, SMALL, DataType.INT32, RedOp.SUM);
        }
    }

    @Test
    void callsOfTheDeviceWaitWhileAnOperationIsGivenToIt() {
        Cluster.processes(2)
                .nodes(2)
                .onDevices()
                .once()
                .deadline(60)
                .run(FreesAllTheTime.class)
                .assertAllSucceeded();
    }

    @Test
    void nonBlockingFinalizeIsInProgressUntilTheStreamHasCome() {
        two().runHere(
                        rank -> {
                            try (Seat seat = new Seat(rank, InitTest.NON_BLOCKING)) {
                                MemorySegment data = seat.holding(10, rank.number());
                                CountDownLatch latch = seat.busy();
                                seat.sum(data, 10);
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                seat.comm.finalizeCommunicator();
                                assertEquals(NcclResult.IN_PROGRESS, seat.comm.asyncError());
                                latch.countDown();
                                seat.comm.awaitReady(InitTest.SOON);
                                Sums.checkSum(seat.content(data), 2, 10);
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
    }

    @Test
    void ranksAgreeOnTheKindOfDevice() {
        Outcome outcome =
                two().runHere(
                                rank -> {
                                    String kind = rank.number() == 0 ? "host" : UsedDevice.KIND;
                                    rank.init(Config.DEFAULT.withDevice(kind)).close();
                                });
        for (RankResult result : outcome.ranks()) {
            result.assertFailed(
                    NcclResult.INVALID_USAGE,
                    "rank 0 has device=host",
                    "rank 1 has device=" + UsedDevice.KIND);
        }
    }

    @Test
    void whatIsNotOnTheDeviceIsRefused() {
        Cluster.threads(1)
                .runHere(
                        rank -> {
                            try (Seat seat = new Seat(rank);
                                    Communicator onHost = rank.init("host", Config.DEFAULT)) {
                                MemorySegment there = seat.holding(10, 0);
                                MemorySegment here = seat.host.allocate(40, 8);
                                MemorySegment half = there.asSlice(20, 20);
                                refused(seat.device.name(), () -> seat.sum(here, 10));
                                refused(
                                        "is memory of " + seat.device.name(),
                                        () ->
                                                onHost.broadcast(
                                                        there, there, 10, DataType.INT32, 0));
                                refused("sendbuff has 20 bytes", () -> seat.sum(half, 10));
                                seat.device.free(there.address());
                                refused("not whole, memory of", () -> seat.sum(there, 10));
                                refused(
                                        "stream 0x7777",
                                        () ->
                                                seat.comm
                                                        .inStream(new Stream(0x7777))
                                                        .send(there, 0, DataType.INT32, 0));
                                refused(
                                        "means nothing on host ranks",
                                        () ->
                                                onHost.inStream(new Stream(1))
                                                        .broadcast(
                                                                here, here, 10, DataType.INT32, 0));
                                refused(
                                        "where its parent is",
                                        () ->
                                                seat.comm.split(
                                                        0, 0, Config.DEFAULT.withDevice("host")));
                                assertFalse(seat.comm.asyncError() != NcclResult.SUCCESS);
                            }
                        })
                .assertAllSucceeded();
    }

    @ParameterizedTest
    @ValueSource(strings = {"abacus", "simulated:9", "simulated:", "Simulated", "simulated:-1"})
    void unknownDeviceIsRefusedByName(String name) {
        refused(
                "\"" + name + "\"",
                () ->
                        Communicator.initRank(
                                1, Communicator.uniqueId(), 0, Config.DEFAULT.withDevice(name)));
    }

    private static void refused(String part, Executable call) {
        NcclException e = assertThrows(NcclException.class, call);
        assertEquals(NcclResult.INVALID_ARGUMENT, e.result(), e.getMessage());
        assertTrue(String.valueOf(e.getMessage()).contains(part), e.getMessage());
    }

    /** Stages 4 GiB. */
    @Tag("stress")
    @Test
    void moreThanTheStagingBoundIsRefused() {
        Cluster.threads(1)
                .runHere(
                        rank -> {
                            byte[] factor = {2, 0, 0, 0};
                            MemorySegment two = MemorySegment.ofArray(factor);
                            // Of one rank, these alone are staged.
                            try (Seat seat = new Seat(rank);
                                    PreMulSum op = seat.comm.preMulSum(two, DataType.INT32)) {
                                MemorySegment data = seat.device.memory(1L << 27);
                                CountDownLatch latch = seat.busy();
                                NcclException e =
                                        assertThrows(
                                                NcclException.class,
                                                () -> {
                                                    for (int i = 0; i < 100; i++) {
                                                        scaled(seat, data, op);
                                                    }
                                                });
                                assertEquals(NcclResult.INVALID_USAGE, e.result());
                                latch.countDown();
                                seat.synchronize();
                                scaled(seat, data, op);
                                seat.synchronize();
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
    }

    private static void scaled(Seat seat, MemorySegment data, PreMulSum op) {
        seat.comm.inStream(seat.stream).allReduce(data, data, 1 << 25, DataType.INT32, op);
    }
}
