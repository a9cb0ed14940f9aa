package org.jccl.suite;

import static org.jccl.suite.Messages.message;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.Collectives;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.Stream;
import org.jccl.device.LinkedProvider;
import org.jccl.device.SimulatedDevice;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Sends and receives that devices run among themselves: simulated ones, or with a GPU, GPUs. */
final class DeviceTransfersTest {
    private static final DataType TYPE = DataType.INT8;

    /** A GPU's send of fewer bytes than its receiver's rings hold may end without a receive. */
    private static final int MORE_THAN_RINGS = 40_000_000;

    private static Cluster threads(int nRanks) {
        int gpus = Integer.getInteger("jccl.gpus", Integer.MAX_VALUE);
        Assumptions.assumeTrue(nRanks <= gpus, "needs " + nRanks + " GPUs, there are " + gpus);
        return Cluster.threads(nRanks).deadline(60);
    }

    private static Seat seat(Rank rank) {
        return seat(rank, Config.DEFAULT);
    }

    private static Seat seat(Rank rank, Config config) {
        return new Seat(rank, config, device(rank));
    }

    private static UsedDevice device(Rank rank) {
        int number = rank.number();
        return UsedDevice.SIMULATED ? LinkedProvider.device(number) : UsedDevice.number(number);
    }

    private static void everybodyToEverybody(int nRanks, int rounds, int... sizes) {
        threads(nRanks)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                Random random = new Random(7L * nRanks + rank.number());
                                Messages messages = new Messages(seat, sizes);
                                Collectives comm = seat.comm.inStream(seat.stream);
                                for (int round = 0; round < rounds; round++) {
                                    messages.fill(round);
                                    Group.run(() -> messages.exchange(random, comm));
                                    seat.synchronize();
                                    messages.check(round);
                                }
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                messages.release();
                            }
                            Seat.requireNothingLeft(device(rank));
                        })
                .assertAllSucceeded();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 8})
    void groupSendsToEverybody(int nRanks) {
        everybodyToEverybody(nRanks, 10, 8, 0, 1, 4000, 121, 65536);
    }

    /** More messages than one kernel moves, and more chunks than a ring has. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void groupOfManyAndOfLarge(int nRanks) {
        int[] many = new int[100];
        for (int k = 0; k < many.length; k++) {
            many[k] = 100 * k + k % 3;
        }
        everybodyToEverybody(nRanks, 3, many);
        everybodyToEverybody(nRanks, 3, 20_000_001, 3, 5_000_000);
    }

    /** Parts so large that devices send them as messages, at odd addresses and in place. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 16})
    void collectivesOfLargeParts(int shift) {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                int bytes = 17_000_001;
                                int me = rank.number();
                                MemorySegment all = seat.device.memory(2L * bytes + shift);
                                MemorySegment one = seat.device.memory(bytes + shift);
                                MemorySegment both = all.asSlice(shift, 2L * bytes);
                                MemorySegment own = one.asSlice(shift, bytes);
                                Collectives comm = seat.comm.inStream(seat.stream);
                                for (int round = 0; round < 2; round++) {
                                    seat.device.put(own, message(seat, me, 0, round, bytes));
                                    comm.allGather(own, both, bytes, TYPE);
                                    check(seat, both.asSlice(0, bytes), 0, 0, round);
                                    check(seat, both.asSlice(bytes), 1, 0, round);
                                    seat.device.put(
                                            both.asSlice((long) me * bytes, bytes),
                                            message(seat, me, 1, round, bytes));
                                    comm.allGather(
                                            both.asSlice((long) me * bytes, bytes),
                                            both,
                                            bytes,
                                            TYPE);
                                    check(seat, both.asSlice(0, bytes), 0, 1, round);
                                    check(seat, both.asSlice(bytes), 1, 1, round);
                                    comm.scatter(both, own, bytes, TYPE, round);
                                    check(seat, own, me, 1, round);
                                    comm.gather(own, both, bytes, TYPE, 1 - round);
                                    comm.broadcast(both, both, bytes, TYPE, 1 - round);
                                    check(seat, both.asSlice(0, bytes), 0, 1, round);
                                    comm.allReduce(both, both, 0, TYPE, RedOp.SUM);
                                }
                                seat.synchronize();
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                List.of(all, one).forEach(seat.device::release);
                            }
                        })
                .assertAllSucceeded();
    }

    private static void check(Seat seat, MemorySegment part, int from, int to, int number) {
        seat.synchronize();
        MemorySegment want = message(seat, from, to, number, part.byteSize());
        MemorySegment got = seat.host.allocate(part.byteSize());
        seat.device.get(got, part);
        assertEquals(-1, got.mismatch(want), "the part of rank " + from);
    }

    /** A receive and a send in a stream for each, of which one takes longer, then the other. */
    @Test
    void directionsDoNotWaitForEachOther() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                Stream other = new Stream(seat.device.openStream());
                                int me = rank.number();
                                MemorySegment out = seat.device.memory(2 * MORE_THAN_RINGS);
                                MemorySegment in = seat.device.memory(2 * MORE_THAN_RINGS);
                                for (int round = 0; round < 3; round++) {
                                    int sent = (1 + (me + round) % 2) * MORE_THAN_RINGS;
                                    int received = 3 * MORE_THAN_RINGS - sent;
                                    seat.device.put(out, message(seat, me, 1 - me, round, sent));
                                    seat.comm.inStream(other).recv(in, received, TYPE, 1 - me);
                                    seat.comm.inStream(seat.stream).send(out, sent, TYPE, 1 - me);
                                    seat.device.synchronize(other.handle());
                                    seat.synchronize();
                                    MemorySegment want = message(seat, 1 - me, me, round, received);
                                    MemorySegment got = seat.content(in.asSlice(0, received));
                                    assertEquals(-1, got.mismatch(want), "round " + round);
                                }
                                List.of(out, in).forEach(seat.device::release);
                                seat.device.closeStream(other.handle());
                            }
                        })
                .assertAllSucceeded();
    }

    /** Messages of a pair keep their order, whatever their streams on one side. */
    @Test
    void messagesOfAPairKeepTheirOrderInSeveralStreams() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                Stream other = new Stream(seat.device.openStream());
                                int bytes = 1000;
                                MemorySegment first = seat.device.memory(bytes);
                                MemorySegment second = seat.device.memory(bytes);
                                Collectives late = seat.comm.inStream(seat.stream);
                                Collectives early = seat.comm.inStream(other);
                                if (rank.number() == 0) {
                                    seat.device.put(first, message(seat, 0, 1, 1, bytes));
                                    seat.device.put(second, message(seat, 0, 1, 2, bytes));
                                    var latch = seat.busy();
                                    late.send(first, bytes, TYPE, 1);
                                    early.send(second, bytes, TYPE, 1);
                                    // The early stream would have gone on, if it could.
                                    Thread.sleep(50);
                                    latch.countDown();
                                } else {
                                    late.recv(first, bytes, TYPE, 0);
                                    late.recv(second, bytes, TYPE, 0);
                                }
                                seat.synchronize();
                                seat.device.synchronize(other.handle());
                                MemorySegment one = message(seat, 0, 1, 1, bytes);
                                MemorySegment two = message(seat, 0, 1, 2, bytes);
                                assertEquals(-1, seat.content(first).mismatch(one));
                                assertEquals(-1, seat.content(second).mismatch(two));
                                List.of(first, second).forEach(seat.device::release);
                                seat.device.closeStream(other.handle());
                            }
                        })
                .assertAllSucceeded();
    }

    /** A group may use several streams on either side: each waits for all, and is waited for. */
    @Test
    void groupInSeveralStreamsGoesOnAtOnce() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                Stream second = new Stream(seat.device.openStream());
                                int me = rank.number();
                                int bytes = 1000;
                                Collectives one = seat.comm.inStream(seat.stream);
                                Collectives two = seat.comm.inStream(second);
                                List<Collectives> streams =
                                        me == 0 ? List.of(one, two, one) : List.of(one, one, two);
                                List<MemorySegment> data = new ArrayList<>();
                                for (int k = 0; k < 3; k++) {
                                    data.add(seat.device.memory(bytes));
                                    seat.device.put(data.get(k), message(seat, 0, 0, k, bytes));
                                }
                                MemorySegment kept = seat.device.memory(bytes);
                                Group.run(
                                        () -> {
                                            for (int k = 0; k < 3; k++) {
                                                if (me == 0) {
                                                    streams.get(k)
                                                            .send(data.get(k), bytes, TYPE, 1);
                                                } else {
                                                    streams.get(k)
                                                            .recv(data.get(k), bytes, TYPE, 0);
                                                }
                                            }
                                            two.send(data.get(0), bytes, TYPE, me);
                                            one.recv(kept, bytes, TYPE, me);
                                        });
                                seat.device.synchronize(second.handle());
                                for (int k = 0; k < 3; k++) {
                                    check(seat, data.get(k), 0, 0, k);
                                }
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                data.forEach(seat.device::release);
                                seat.device.release(kept);
                                seat.device.closeStream(second.handle());
                            }
                            Seat.requireNothingLeft(device(rank));
                        })
                .assertAllSucceeded();
    }

    @Test
    void messageToItselfNeedsBothEnds() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.device.memory(8);
                                Collectives comm = seat.comm.inStream(seat.stream);
                                NcclException e =
                                        assertThrows(
                                                NcclException.class,
                                                () -> comm.send(data, 8, TYPE, rank.number()));
                                assertEquals(NcclResult.INVALID_USAGE, e.result());
                                seat.synchronize();
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
    }

    /** Both sides' graphs run as often as their owners like, mixed with other calls. */
    @Test
    void capturedGroupRunsWithItsGraph() {
        Assumptions.assumeTrue(UsedDevice.SIMULATED, "nccl-tests captures on a GPU");
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                SimulatedDevice device = LinkedProvider.device(rank.number());
                                long stream = seat.stream.handle();
                                Random random = new Random(rank.number());
                                Messages messages = new Messages(seat, 1000, 0, 7);
                                Collectives comm = seat.comm.inStream(seat.stream);
                                device.capture(stream);
                                Group.run(() -> messages.exchange(random, comm));
                                List<Runnable> graph = device.endCapture(stream);
                                assertEquals(1, graph.size());
                                for (int round = 0; round < 3; round++) {
                                    messages.fill(round);
                                    graph.forEach(kernel -> device.run(stream, kernel));
                                    seat.synchronize();
                                    messages.check(round);
                                    messages.fill(round + 1);
                                    Group.run(() -> messages.exchange(random, comm));
                                    seat.synchronize();
                                    messages.check(round + 1);
                                }
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                messages.release();
                            }
                        })
                .assertAllSucceeded();
    }

    /** Which of the two ranks waits for the other, in vain. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void timeLimitNamesThePeerThatHasNotCome(boolean sends) {
        Outcome outcome =
                threads(2)
                        .runHere(
                                rank -> {
                                    Config config =
                                            Config.DEFAULT.withTimeout(Duration.ofSeconds(1));
                                    try (Seat seat = seat(rank, config)) {
                                        int bytes = MORE_THAN_RINGS;
                                        MemorySegment data = seat.device.memory(bytes);
                                        Collectives comm = seat.comm.inStream(seat.stream);
                                        if (rank.number() == 0 && sends) {
                                            comm.send(data, bytes, TYPE, 1);
                                        } else if (rank.number() == 0) {
                                            comm.recv(data, bytes, TYPE, 1);
                                        }
                                        seat.awaitFailure();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        outcome.rank(0)
                .assertFailed(
                        NcclResult.TIMEOUT,
                        (sends ? "ncclSend" : "ncclRecv") + "(" + MORE_THAN_RINGS,
                        "rank 1");
    }

    /** It takes none of two messages that one kernel moves, or the first. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void receiverThatLeavesInsteadIsNamed(boolean takesFirst) {
        Outcome outcome =
                threads(2)
                        .runHere(
                                rank -> {
                                    try (Seat seat = seat(rank)) {
                                        int bytes = MORE_THAN_RINGS;
                                        MemorySegment data = seat.device.memory(bytes);
                                        Collectives comm = seat.comm.inStream(seat.stream);
                                        if (rank.number() == 1) {
                                            rank.await("sent");
                                            if (takesFirst) {
                                                comm.recv(data, bytes, TYPE, 0);
                                                seat.synchronize();
                                            }
                                            seat.device.release(data);
                                            return;
                                        }
                                        Group.run(
                                                () -> {
                                                    comm.send(data, bytes, TYPE, 1);
                                                    comm.send(data, bytes, TYPE, 1);
                                                });
                                        rank.post("sent", "");
                                        seat.awaitFailure();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        outcome.rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 1");
    }

    @Test
    void messagesThatDoNotMatchAreNamed() {
        Outcome outcome =
                threads(2)
                        .runHere(
                                rank -> {
                                    try (Seat seat = seat(rank)) {
                                        MemorySegment data = seat.device.memory(1000);
                                        Collectives comm = seat.comm.inStream(seat.stream);
                                        if (rank.number() == 0) {
                                            comm.send(data, 1000, TYPE, 1);
                                        } else {
                                            comm.recv(data, 999, TYPE, 0);
                                        }
                                        seat.awaitFailure();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        outcome.rank(1)
                .assertFailed(NcclResult.INVALID_USAGE, "send and receive do not match", "999");
    }

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
                                MemorySegment data = seat.holding(1000, 7);
                                Collectives comm = seat.comm.inStream(seat.stream);
                                comm.recv(data, 4000, TYPE, 1);
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

    /** A peer that has sent everything, and has left, is not missed while the data comes. */
    @Test
    void peerThatHasLeftIsNotMissed() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                int bytes = 1000;
                                MemorySegment data = seat.device.memory(bytes);
                                Collectives comm = seat.comm.inStream(seat.stream);
                                MemorySegment sent = message(seat, 0, 1, 0, bytes);
                                if (rank.number() == 0) {
                                    seat.device.put(data, sent);
                                    comm.send(data, bytes, TYPE, 1);
                                } else {
                                    comm.recv(data, bytes, TYPE, 0);
                                }
                                seat.synchronize();
                                if (rank.number() == 1) {
                                    rank.await("left");
                                    assertEquals(-1, seat.content(data).mismatch(sent));
                                }
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                seat.device.release(data);
                            }
                            rank.post("left", "");
                        })
                .assertAllSucceeded();
    }

    /** Single sends one after the other: many more than lanes have room for words of the host. */
    @Test
    void manySingleSends() {
        threads(2)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.device.memory(4000);
                                Collectives comm = seat.comm.inStream(seat.stream);
                                for (int i = 0; i < 1000; i++) {
                                    int bytes = 1 + i % 4000;
                                    if (rank.number() == i % 2) {
                                        comm.send(data, bytes, TYPE, 1 - rank.number());
                                    } else {
                                        comm.recv(data, bytes, TYPE, 1 - rank.number());
                                    }
                                }
                                seat.synchronize();
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
    }
}
