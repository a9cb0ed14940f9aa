package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Config;
import org.jccl.device.LinkedProvider;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.progress.CommExecutor;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** More calls than a communicator keeps, in a stream that has not come to them. */
final class DeviceQueueTest {
    private static final int MORE = CommExecutor.MAX_PENDING + 500;
    private static final int DEADLINE_S = 120;

    private static Seat seat(Rank rank) {
        return new Seat(rank, Config.DEFAULT, LinkedProvider.device(rank.number()));
    }

    private static void max(Seat seat, MemorySegment data) {
        seat.comm.inStream(seat.stream).allReduce(data, data, 1, DataType.INT32, RedOp.MAX);
    }

    /** Returns once there are as many calls as there may be, and no more follow. */
    private static void awaitFull(AtomicInteger calls) throws InterruptedException {
        while (calls.get() < CommExecutor.MAX_PENDING) {
            Thread.sleep(10);
        }
        Thread.sleep(300);
        assertEquals(CommExecutor.MAX_PENDING, calls.get());
    }

    @Test
    @Tag("stress")
    void callerWaitsForRoom() {
        Cluster.threads(2)
                .deadline(DEADLINE_S)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.holding(1, rank.number());
                                AtomicInteger calls = new AtomicInteger();
                                FutureTask<Void> caller =
                                        new FutureTask<>(
                                                () -> {
                                                    for (int i = 0; i < MORE; i++) {
                                                        max(seat, data);
                                                        calls.incrementAndGet();
                                                    }
                                                    return null;
                                                });
                                if (rank.number() == 0) {
                                    Thread.ofPlatform().start(caller);
                                    awaitFull(calls);
                                    rank.post("full", "");
                                } else {
                                    rank.await("full");
                                    caller.run();
                                }
                                caller.get();
                                seat.synchronize();
                                int result = seat.content(data).get(ValueLayout.JAVA_INT, 0);
                                assertEquals(1, result);
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                                seat.device.release(data);
                            }
                        })
                .assertAllSucceeded();
    }

    @Test
    void abortEndsACallThatWaitsForRoom() {
        Cluster.threads(2)
                .deadline(DEADLINE_S)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                if (rank.number() == 1) {
                                    rank.await("aborted");
                                    return;
                                }
                                MemorySegment data = seat.holding(1, 0);
                                AtomicInteger calls = new AtomicInteger();
                                AtomicReference<Throwable> end = new AtomicReference<>();
                                Thread caller =
                                        Thread.ofPlatform()
                                                .start(
                                                        () -> {
                                                            try {
                                                                while (true) {
                                                                    max(seat, data);
                                                                    calls.incrementAndGet();
                                                                }
                                                            } catch (NcclException refused) {
                                                                end.set(refused);
                                                            }
                                                        });
                                awaitFull(calls);
                                assertTrue(caller.isAlive());
                                seat.comm.abort();
                                caller.join(10_000);
                                assertFalse(caller.isAlive());
                                assertInstanceOf(NcclException.class, end.get());
                                seat.synchronize();
                                seat.device.release(data);
                            } finally {
                                rank.post("aborted", "");
                            }
                        })
                .assertAllSucceeded();
    }
}
