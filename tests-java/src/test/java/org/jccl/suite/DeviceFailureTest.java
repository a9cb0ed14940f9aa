package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.device.SimulatedDevice;
import org.jccl.device.SimulatedProvider;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.RunningCluster;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Aborts, deaths, refusals and faults on a device: streams go on, and nothing is written later. */
final class DeviceFailureTest {
    private static final int LARGE = 1 << 20;

    /** Devices that keep staging memory, since they refuse to say that nobody uses it. */
    private static final int REFUSING = 6;

    private static final String ONLY_SIMULATED = "only a simulated device fails when it is told to";

    private static final Duration SECOND = Duration.ofSeconds(1);

    private static Cluster two() {
        return Cluster.threads(2).deadline(60);
    }

    /** Both ranks have come to this place, once. */
    private static void meet(Rank rank) {
        rank.post("rank " + rank.number(), "");
        rank.await("rank " + (1 - rank.number()));
    }

    static List<Cluster> pairs() {
        return List.of(two(), two().nodes(2));
    }

    /** The stream of a rank whose peer never comes goes on after abort, and nothing is written. */
    @ParameterizedTest
    @MethodSource("pairs")
    void abortFreesTheStreamAndTheBuffers(Cluster cluster) {
        cluster.runHere(
                        rank -> {
                            try (Seat seat = new Seat(rank)) {
                                if (rank.number() == 1) {
                                    rank.await("aborted");
                                    return;
                                }
                                MemorySegment data = seat.holding(LARGE, 7);
                                seat.sum(data, LARGE);
                                Thread.sleep(50);
                                seat.comm.abort();
                                seat.synchronize();
                                seat.requireUntouched(data);
                            } finally {
                                rank.post("aborted", "");
                            }
                            Seat.requireNothingLeft(rank.number());
                        })
                .assertAllSucceeded();
    }

    /** Aborts while results are on their way: they are whole or absent, and never come later. */
    @Test
    void abortDoesNotWaitForThePeersAndLeavesNoCopyUnderWay() {
        for (int moment = 0; moment < 30; moment++) {
            int us = moment * 150;
            two().runHere(
                            rank -> {
                                try (Seat seat = new Seat(rank)) {
                                    MemorySegment data = seat.holding(LARGE, rank.number());
                                    seat.sum(data, LARGE);
                                    meet(rank);
                                    Thread.sleep(Duration.ofNanos(1000L * us));
                                    seat.comm.abort();
                                    seat.synchronize();
                                    seat.requireUntouched(data);
                                }
                            })
                    .assertAllSucceeded();
        }
    }

    /** Memory that a stream has yet to come to outlives the communicator, and is freed then. */
    @Test
    void abortBeforeTheStreamHasComeLeavesNothingBehind() {
        two().runHere(
                        rank -> {
                            try (Seat seat = new Seat(rank)) {
                                MemorySegment data = seat.holding(LARGE, rank.number());
                                CountDownLatch latch = seat.busy();
                                seat.sum(data, LARGE);
                                meet(rank);
                                seat.comm.abort();
                                if (seat.device instanceof SimulatedDevice device) {
                                    assertTrue(device.pinnedBytes() > 0);
                                }
                                latch.countDown();
                                seat.synchronize();
                                seat.device.release(data);
                            }
                            Seat.requireNothingLeft(rank.number());
                        })
                .assertAllSucceeded();
    }

    /**
     * A thread is inside the first communicator, in a call that waits for the second one's peer.
     */
    public static final class AbortsInTurn implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            Communicator first = rank.init("first", Config.DEFAULT);
            Communicator second = rank.init("second", Config.DEFAULT);
            try (Communicator idle = rank.init("idle", Config.DEFAULT);
                    Place place = Place.of(idle)) {
                if (rank.number() == 1) {
                    rank.await("aborted");
                    first.abort();
                    second.abort();
                    return;
                }
                UsedDevice device = UsedDevice.number(first.device());
                MemorySegment memory = place.holding(Sums.filled(place.host(), 0, LARGE));
                MemorySegment other = device.memory(64);
                sum(second, memory, place);
                Thread frees = started("frees", () -> device.freeWhenIdle(other));
                // Nothing tells that a thread waits in a call of the device.
                Thread.sleep(50);
                Thread calls =
                        started(
                                "calls",
                                () -> {
                                    try {
                                        sum(first, memory, place);
                                    } catch (NcclException aborted) {
                                        // It may come before the abort, or after it.
                                    }
                                });
                Thread.sleep(50);
                first.abort();
                second.abort();
                rank.post("aborted", "");
                frees.join();
                calls.join();
                place.await();
            }
        }

        private static void sum(Communicator comm, MemorySegment data, Place place) {
            comm.inStream(place.stream()).allReduce(data, data, LARGE, DataType.INT32, RedOp.SUM);
        }

        private static Thread started(String name, Runnable body) {
            return Thread.ofPlatform().name(name).daemon().start(body);
        }
    }

    @Test
    void communicatorsAreAbortedInTurnThoughTheDeviceWaitsForTheLast() {
        Cluster.processes(2)
                .nodes(2)
                .onDevices()
                .once()
                .deadline(60)
                .run(AbortsInTurn.class)
                .assertAllSucceeded();
    }

    @Test
    void timeLimitNamesTheOwnStream() {
        Outcome outcome =
                two().runHere(
                                rank -> {
                                    boolean late = rank.number() == 0;
                                    Config config = Config.DEFAULT;
                                    config = late ? config.withTimeout(SECOND) : config;
                                    try (Seat seat = new Seat(rank, config)) {
                                        MemorySegment data = seat.holding(10, rank.number());
                                        CountDownLatch latch =
                                                late ? seat.busy() : new CountDownLatch(0);
                                        seat.sum(data, 10);
                                        awaitFailure(seat.comm);
                                        latch.countDown();
                                        seat.synchronize();
                                        seat.device.release(data);
                                        seat.comm.awaitReady(InitTest.SOON);
                                    }
                                });
        outcome.rank(0)
                .assertFailed(
                        NcclResult.TIMEOUT,
                        "rank 0 has waited",
                        "ncclAllReduce of 10 elements",
                        "for its own stream");
        outcome.rank(1).assertFailed(NcclResult.REMOTE_ERROR, "rank 0");
    }

    /** Calls of the device that, if refused, leave the communicator as it was; others end it. */
    static List<Refusal> refusals() {
        return List.of(
                new Refusal("allocateHost", 0, false),
                new Refusal("copyOut", 0, false),
                new Refusal("await", 0, true),
                new Refusal("copyIn", 0, true),
                new Refusal("write", 1, true),
                new Refusal("freeHost", 0, false));
    }

    record Refusal(String call, int after, boolean ends) {}

    @ParameterizedTest
    @MethodSource("refusals")
    void whatTheDeviceRefusesHoldsNoStream(Refusal refusal) {
        assumeTrue(UsedDevice.SIMULATED, ONLY_SIMULATED);
        two().runHere(
                        rank -> {
                            int number = REFUSING + rank.number();
                            try (Seat seat = new Seat(rank, Config.DEFAULT, number)) {
                                MemorySegment data = seat.holding(LARGE, rank.number());
                                if (rank.number() == 0) {
                                    SimulatedProvider.device(number)
                                            .refuse(refusal.call(), refusal.after());
                                    refuseOnce(seat, data, refusal);
                                } else {
                                    sumUnlessOver(seat, data, refusal);
                                }
                                if (refusal.ends()) {
                                    awaitFailure(seat.comm);
                                }
                                seat.synchronize();
                                if (!refusal.ends()) {
                                    Sums.checkSum(seat.content(data), 2, LARGE);
                                }
                                seat.device.release(data);
                            }
                            assertEquals(0, SimulatedProvider.device(number).openStreams());
                        })
                .assertAllSucceeded();
    }

    /** If the refusal ends the communicator, its peer may hear of that before it calls. */
    private static void sumUnlessOver(Seat seat, MemorySegment data, Refusal refusal) {
        try {
            seat.sum(data, LARGE);
        } catch (NcclException over) {
            assertTrue(refusal.ends(), over::getMessage);
        }
    }

    private static void refuseOnce(Seat seat, MemorySegment data, Refusal refusal) {
        CountDownLatch latch = seat.busy();
        try {
            seat.sum(data, LARGE);
        } catch (NcclException e) {
            assertEquals(NcclResult.UNHANDLED_CUDA_ERROR, e.result(), e.getMessage());
            if (!refusal.ends()) {
                seat.sum(data, LARGE);
            }
        } finally {
            latch.countDown();
        }
    }

    private static void awaitFailure(Communicator comm) throws InterruptedException {
        while (comm.asyncError() == NcclResult.SUCCESS) {
            Thread.sleep(5);
        }
    }

    /** In a process of its own, whose device is of no use afterwards. */
    public static final class DeviceFails implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            try (Communicator comm = rank.init()) {
                SimulatedDevice device = SimulatedProvider.device(0);
                Sums.allReduce(comm, 1000);
                MemorySegment data = device.memory(4L * LARGE);
                comm.allReduce(data, data, LARGE, DataType.INT32, RedOp.SUM);
                if (rank.number() == 0) {
                    device.fail("an illegal instruction");
                }
                awaitFailure(comm);
                comm.awaitReady(InitTest.SOON);
            }
        }
    }

    @Test
    void failedDeviceIsNamedOnAllRanks() {
        assumeTrue(UsedDevice.SIMULATED, ONLY_SIMULATED);
        Outcome outcome = Cluster.processes(2).onDevices().once().run(DeviceFails.class);
        outcome.rank(0)
                .assertFailed(
                        NcclResult.UNHANDLED_CUDA_ERROR, "simulated:0", "illegal instruction");
        outcome.rank(1).assertFailed(NcclResult.REMOTE_ERROR, "rank 0", "illegal instruction");
    }

    /**
     * On a device rank 0 has an operation in its stream behind one that waits for rank 1. No other
     * rank learns of the death of rank 1.
     */
    public static final class QueuesBehind implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try (Place place = Place.of(comm)) {
                MemorySegment data = place.allocate(4L * LARGE);
                Sums.barrier(comm);
                if (rank.number() == 1) {
                    rank.say("busy");
                    rank.await("nothing");
                }
                comm.inStream(place.stream()).recv(data, LARGE, DataType.INT32, 1);
                comm.inStream(place.stream())
                        .allReduce(data, data, LARGE, DataType.INT32, RedOp.SUM);
                rank.say("busy");
                place.await();
            } finally {
                comm.abort();
            }
        }
    }

    /** All ranks add without end; nobody waits on the host for more than a few operations. */
    public static final class AddsForEver implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try (Place place = Place.of(comm)) {
                MemorySegment data = place.allocate(4L * LARGE);
                for (int round = 0; ; round++) {
                    comm.inStream(place.stream())
                            .allReduce(data, data, LARGE, DataType.INT32, RedOp.SUM);
                    if (round % 4 == 3) {
                        place.await();
                    }
                    if (round == 20) {
                        rank.say("busy");
                    }
                }
            } finally {
                comm.abort();
            }
        }
    }

    @Test
    void deathInTheMiddleIsNamedAndFreesTheDevice() {
        try (RunningCluster running = Cluster.processes(2).onDevices().start(AddsForEver.class)) {
            running.awaitAllSaid("busy");
            running.kill(1);
            running.awaitEnd(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 1");
        }
    }

    @Test
    void deathIsSeenBehindOperationsOfTheSameStream() {
        Cluster cluster = Cluster.processes(2).onDevices();
        try (RunningCluster running = cluster.start(QueuesBehind.class)) {
            running.awaitAllSaid("busy");
            running.kill(1);
            running.awaitEnd(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 1");
        }
    }
}
