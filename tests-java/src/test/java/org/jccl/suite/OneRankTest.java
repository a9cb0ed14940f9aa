package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Config;
import org.jccl.Group;
import org.jccl.device.SimulatedDevice;
import org.jccl.device.SimulatedProvider;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.PreMulSum;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.function.BiConsumer;

/** A communicator of one rank on a device, which copies there and stages nothing. */
final class OneRankTest {
    private static final int COUNT = 1 << 20;

    /** On a GPU, some that a kernel copies, and one that the driver does. */
    private static final int[] COUNTS = {0, 1, 1003, COUNT, 3 * COUNT};

    /** More than may be under way at a time. */
    private static final int MANY = 70_000;

    private static final DataType TYPE = DataType.INT32;

    /** No other test counts what is left on it. */
    private static final int DEVICE = UsedDevice.SIMULATED ? 5 : 0;

    private interface Body {
        void run(Seat seat) throws Exception;
    }

    private static void alone(Body body) {
        Cluster.threads(1)
                .deadline(60)
                .runHere(
                        rank -> {
                            try (Seat seat = new Seat(rank, Config.DEFAULT, DEVICE)) {
                                body.run(seat);
                            }
                            Seat.requireNothingLeft(DEVICE);
                        })
                .assertAllSucceeded();
    }

    private static List<BiConsumer<MemorySegment, MemorySegment>> operations(Seat seat) {
        return operations(seat, COUNT);
    }

    private static List<BiConsumer<MemorySegment, MemorySegment>> operations(Seat seat, int count) {
        var comm = seat.comm.inStream(seat.stream);
        return List.of(
                (in, out) -> comm.allReduce(in, out, count, TYPE, RedOp.SUM),
                (in, out) -> comm.allReduce(in, out, count, TYPE, RedOp.AVG),
                (in, out) -> comm.reduce(in, out, count, TYPE, RedOp.MAX, 0),
                (in, out) -> comm.reduceScatter(in, out, count, TYPE, RedOp.PROD),
                (in, out) -> comm.allGather(in, out, count, TYPE),
                (in, out) -> comm.broadcast(in, out, count, TYPE, 0),
                (in, out) -> comm.allToAll(in, out, count, TYPE),
                (in, out) -> comm.gather(in, out, count, TYPE, 0),
                (in, out) -> comm.scatter(in, out, count, TYPE, 0),
                (in, out) ->
                        Group.run(
                                () -> {
                                    int half = count / 2;
                                    long at = 4L * half;
                                    comm.send(in, half, TYPE, 0);
                                    comm.recv(out, half, TYPE, 0);
                                    comm.send(in.asSlice(at), count - half, TYPE, 0);
                                    comm.recv(out.asSlice(at), count - half, TYPE, 0);
                                }));
    }

    @Test
    void everyOperationIsACopy() {
        alone(
                seat -> {
                    int first = 1;
                    for (int count : COUNTS) {
                        for (var operation : operations(seat, count)) {
                            MemorySegment in = seat.holding(count + 1, first);
                            MemorySegment out = seat.holding(count + 1, -first);
                            requireCopy(seat, operation, count, in, out);
                            // To an address that is a multiple of 4 alone.
                            seat.device.put(out, Sums.filled(seat.host, -first, count + 1));
                            MemorySegment odd = count == 0 ? out : out.asSlice(4);
                            requireCopy(seat, operation, count, in, odd);
                            List.of(in, out).forEach(seat.device::release);
                            first++;
                        }
                    }
                    requireNothingStaged();
                    awaitCounted(seat, 4L * COUNTS.length * (9 + 4));
                });
    }

    private static void requireCopy(
            Seat seat,
            BiConsumer<MemorySegment, MemorySegment> operation,
            int count,
            MemorySegment in,
            MemorySegment out) {
        int behind = seat.content(out).get(ValueLayout.JAVA_INT, out.byteSize() - 4);
        operation.accept(in, out);
        operation.accept(out, out);
        seat.synchronize();
        MemorySegment is = seat.content(out);
        MemorySegment wanted = seat.content(in);
        long bytes = 4L * count;
        assertEquals(-1, is.asSlice(0, bytes).mismatch(wanted.asSlice(0, bytes)));
        if (out.byteSize() > bytes) {
            assertEquals(behind, is.get(ValueLayout.JAVA_INT, bytes));
        }
    }

    private static int firstOf(Seat seat, MemorySegment memory) {
        return seat.content(memory).get(ValueLayout.JAVA_INT, 0);
    }

    private static void requireNothingStaged() {
        if (UsedDevice.SIMULATED) {
            assertTrue(SimulatedProvider.device(DEVICE).pinnedBytes() < COUNT);
        }
    }

    /** The host hears of the end a little later than the stream. */
    private static void awaitCounted(Seat seat, long calls) throws InterruptedException {
        while (calls(seat) < calls) {
            Thread.sleep(1);
        }
        assertEquals(calls, calls(seat));
    }

    private static long calls(Seat seat) {
        return seat.comm.stats().calls().values().stream().mapToLong(Long::longValue).sum();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void futureIsDoneWhenTheStreamIs() {
        alone(
                seat -> {
                    MemorySegment in = seat.holding(COUNT, 3);
                    MemorySegment out = seat.holding(COUNT, 4);
                    CountDownLatch latch = new CountDownLatch(1);
                    seat.device.run(0, () -> await(latch));
                    var inPlace = seat.comm.async().allReduce(out, out, COUNT, TYPE, RedOp.SUM);
                    var copied = seat.comm.async().allReduce(in, out, COUNT, TYPE, RedOp.SUM);
                    Thread.sleep(20);
                    assertFalse(copied.isDone() || inPlace.isDone());
                    assertEquals(4, firstOf(seat, out));
                    latch.countDown();
                    CompletableFuture.allOf(copied, inPlace).join();
                    // A word that is written before the copy would be seen before its end.
                    assertEquals(-1, seat.content(out).mismatch(seat.content(in)));
                    List.of(in, out).forEach(seat.device::release);
                });
    }

    /** What nobody asks about waits for nothing; a program may release the other stream later. */
    @Test
    void callsGoOnBesideAFutureWhoseStreamIsHeld() {
        alone(
                seat -> {
                    MemorySegment data = seat.holding(1, 3);
                    CountDownLatch latch = new CountDownLatch(1);
                    seat.device.run(0, () -> await(latch));
                    var held = seat.comm.async().allReduce(data, data, 1, TYPE, RedOp.SUM);
                    for (int i = 0; i < MANY; i++) {
                        seat.sum(data, 1);
                    }
                    // The one whose stream is held has begun, for the host.
                    awaitCounted(seat, MANY + 1);
                    assertFalse(held.isDone());
                    latch.countDown();
                    held.join();
                    seat.device.release(data);
                });
    }

    /** That is the one that is not a copy. */
    @Test
    void sumWithAFactorIsOne() {
        byte[] factor = {2, 0, 0, 0};
        alone(
                seat -> {
                    MemorySegment in = seat.holding(1, 3);
                    MemorySegment out = seat.holding(1, 4);
                    try (PreMulSum op = seat.comm.preMulSum(MemorySegment.ofArray(factor), TYPE)) {
                        seat.comm.inStream(seat.stream).allReduce(in, out, 1, TYPE, op);
                    }
                    seat.synchronize();
                    assertEquals(2 * 3, firstOf(seat, out));
                    List.of(in, out).forEach(seat.device::release);
                });
    }

    /** What is in place does nothing, and what is sent to itself needs both ends in a group. */
    @Test
    void graphConsistsOfCopies() {
        if (!UsedDevice.SIMULATED) {
            System.out.println("graphConsistsOfCopies: skipped, since CUDA graphs are not at hand");
            return;
        }
        SimulatedDevice device = SimulatedProvider.device(DEVICE);
        alone(
                seat -> {
                    MemorySegment in = seat.holding(COUNT, 5);
                    MemorySegment out = seat.holding(COUNT, 6);
                    long stream = seat.stream.handle();
                    device.capture(stream);
                    for (var operation : operations(seat)) {
                        operation.accept(in, out);
                        operation.accept(out, out);
                    }
                    List<Runnable> graph = device.endCapture(stream);
                    int collectives = operations(seat).size() - 1;
                    assertEquals(collectives + 2, graph.size());
                    for (int i = 0; i <= collectives; i++) {
                        // The last two are those of what is sent.
                        int end = i < collectives ? i + 1 : graph.size();
                        device.put(out, Sums.filled(seat.host, 7, COUNT));
                        graph.subList(i, end).forEach(copy -> device.run(stream, copy));
                        seat.synchronize();
                        assertEquals(-1, seat.content(out).mismatch(seat.content(in)));
                    }
                    assertEquals(NcclResult.SUCCESS, seat.comm.asyncError());
                    List.of(in, out).forEach(seat.device::release);
                });
    }

    @Test
    void whatIsRefusedFailsItsCallAlone() {
        if (!UsedDevice.SIMULATED) {
            System.out.println("whatIsRefusedFailsItsCallAlone: skipped, since no GPU refuses it");
            return;
        }
        alone(
                seat -> {
                    MemorySegment in = seat.holding(COUNT, 8);
                    MemorySegment out = seat.holding(COUNT, 9);
                    SimulatedProvider.device(DEVICE).refuse("copy", 0);
                    NcclException e =
                            assertThrows(
                                    NcclException.class,
                                    () -> operations(seat).getFirst().accept(in, out));
                    assertEquals(NcclResult.UNHANDLED_CUDA_ERROR, e.result());
                    SimulatedProvider.device(DEVICE).refuse("write", 0);
                    CompletableFuture<?> told =
                            seat.comm.async().allReduce(in, out, 1, TYPE, RedOp.SUM);
                    CompletionException why = assertThrows(CompletionException.class, told::join);
                    assertInstanceOf(NcclException.class, why.getCause());
                    operations(seat).getFirst().accept(in, out);
                    seat.synchronize();
                    assertEquals(8, firstOf(seat, out));
                    List.of(in, out).forEach(seat.device::release);
                });
    }
}
