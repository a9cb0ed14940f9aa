package org.jccl.suite;

import static org.jccl.suite.Messages.message;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.Collectives;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.Stream;
import org.jccl.device.LinkedCollectives;
import org.jccl.device.LinkedProvider;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** What goes to a simulated device together, by several threads, or is refused. */
final class DeviceBatchesTest {
    private static final DataType TYPE = DataType.INT8;
    private static final int BYTES = 1000;
    private static final int THREADS = 3;
    private static final int GROUPS = 200;

    private static Seat seat(Rank rank) {
        return new Seat(rank, Config.DEFAULT, LinkedProvider.device(rank.number()));
    }

    /**
     * Each in a stream of its own. All messages are alike, so that any order of groups is right.
     */
    @Test
    void groupsOfSeveralThreadsOnOneCommunicator() {
        Cluster.threads(2)
                .deadline(60)
                .runHere(
                        rank -> {
                            UsedDevice device = LinkedProvider.device(rank.number());
                            try (Seat seat = seat(rank);
                                    ExecutorService threads =
                                            Executors.newFixedThreadPool(THREADS)) {
                                List<Future<?>> all = new ArrayList<>();
                                for (int i = 0; i < THREADS; i++) {
                                    all.add(threads.submit(() -> exchange(seat)));
                                }
                                for (Future<?> each : all) {
                                    each.get();
                                }
                                assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                            }
                            Seat.requireNothingLeft(device);
                        })
                .assertAllSucceeded();
        assertEquals(0, LinkedCollectives.open());
    }

    private static Void exchange(Seat seat) throws InterruptedException {
        int other = 1 - seat.rank.number();
        Stream stream = new Stream(seat.device.openStream());
        Collectives comm = seat.comm.inStream(stream);
        MemorySegment out = seat.device.memory(BYTES);
        MemorySegment in = seat.device.memory(BYTES);
        seat.device.put(out, message(seat, seat.rank.number(), other, 0, BYTES));
        for (int i = 0; i < GROUPS; i++) {
            Group.run(
                    () -> {
                        comm.send(out, BYTES, TYPE, other);
                        comm.recv(in, BYTES, TYPE, other);
                    });
        }
        seat.device.synchronize(stream.handle());
        MemorySegment sent = message(seat, other, seat.rank.number(), 0, BYTES);
        assertEquals(-1, seat.content(in).mismatch(sent));
        seat.device.closeStream(stream.handle());
        seat.device.release(out);
        seat.device.release(in);
        return null;
    }

    /** The communicator fails on both ranks; no stream waits for what never began. */
    @ParameterizedTest
    @ValueSource(ints = {1, 20})
    void refusedGroupHoldsNoStream(int messages) {
        Cluster.threads(2)
                .deadline(60)
                .runHere(
                        rank -> {
                            try (Seat seat = seat(rank)) {
                                MemorySegment data = seat.device.memory(BYTES);
                                if (rank.number() == 0) {
                                    rank.await("called");
                                    LinkedProvider.device(0).refuse("launch", 0);
                                    NcclException refused =
                                            assertThrows(
                                                    NcclException.class,
                                                    () -> both(seat, data, messages));
                                    assertEquals(NcclResult.UNHANDLED_CUDA_ERROR, refused.result());
                                } else {
                                    both(seat, data, messages);
                                    rank.post("called", "");
                                }
                                seat.awaitFailure();
                                seat.synchronize();
                                seat.device.release(data);
                            }
                            Seat.requireNothingLeft(LinkedProvider.device(rank.number()));
                        })
                .assertAllSucceeded();
        assertEquals(0, LinkedCollectives.open());
    }

    private static void both(Seat seat, MemorySegment data, int messages) {
        int other = 1 - seat.rank.number();
        Collectives comm = seat.comm.inStream(seat.stream);
        Group.run(
                () -> {
                    for (int i = 0; i < messages; i++) {
                        comm.send(data, BYTES, TYPE, other);
                        comm.recv(data, BYTES, TYPE, other);
                    }
                });
    }
}
