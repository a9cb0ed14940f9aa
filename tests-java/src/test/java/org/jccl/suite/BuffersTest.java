package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.Buffers;
import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.List;
import java.util.concurrent.FutureTask;

/** Buffers of direct memory and of arrays. */
final class BuffersTest {
    private static final int COUNT = 1000;

    @Test
    void operationsFillDirectBuffersInPlace() {
        Cluster.threads(3)
                .runHere(
                        rank -> {
                            try (Communicator comm = rank.init()) {
                                sumDirectly(comm);
                            }
                        })
                .assertAllSucceeded();
    }

    /** From position to limit; what is outside stays. */
    private static void sumDirectly(Communicator comm) {
        ByteBuffer bytes =
                ByteBuffer.allocateDirect(4 * (COUNT + 2)).order(ByteOrder.nativeOrder());
        FloatBuffer floats = bytes.asFloatBuffer();
        for (int i = 0; i < COUNT + 2; i++) {
            floats.put(i, i + comm.rank());
        }
        FloatBuffer inner = floats.slice(1, COUNT);
        MemorySegment data = Buffers.of(inner);
        assertEquals(4L * COUNT, data.byteSize());
        comm.allReduce(data, data, COUNT, DataType.FLOAT32, RedOp.SUM);
        for (int i = 1; i <= COUNT; i++) {
            assertEquals(3 * i + 3, floats.get(i));
        }
        assertEquals(comm.rank(), floats.get(0));
        assertEquals(COUNT + 1 + comm.rank(), floats.get(COUNT + 1));
        bytes.position(8).limit(12);
        assertEquals(4, Buffers.of(bytes).byteSize());
        assertEquals(data.address() + 4, Buffers.of(bytes).address());
    }

    @Test
    void arraysOfEachTypeGoThereAndBack() {
        Cluster.threads(2)
                .runHere(
                        rank -> {
                            try (Communicator comm = rank.init();
                                    Arena arena = Arena.ofConfined()) {
                                Object[] arrays = {
                                    new byte[COUNT],
                                    new int[COUNT],
                                    new long[COUNT],
                                    new float[COUNT],
                                    new double[COUNT]
                                };
                                for (Object array : arrays) {
                                    sum(comm, arena, array, Buffers.typeOf(array));
                                }
                                shorts(comm, arena);
                            }
                        })
                .assertAllSucceeded();
    }

    private static void sum(Communicator comm, Arena arena, Object array, DataType type) {
        for (int i = 0; i < COUNT; i++) {
            Array.setByte(array, i, (byte) (i % 50 + comm.rank()));
        }
        MemorySegment data = Buffers.copyOf(array, arena);
        assertEquals(0, data.address() % 64);
        comm.allReduce(data, data, COUNT, type, RedOp.SUM);
        assertEquals(comm.rank(), ((Number) Array.get(array, 0)).intValue());
        Buffers.copyTo(array, data);
        for (int i = 0; i < COUNT; i++) {
            assertEquals(2 * (i % 50) + 1, ((Number) Array.get(array, i)).intValue());
        }
    }

    private static void shorts(Communicator comm, Arena arena) {
        short[] halves = {Float.floatToFloat16(1.5f), Float.floatToFloat16(-2)};
        MemorySegment data = Buffers.copyOf(halves, arena);
        comm.allReduce(data, data, 2, DataType.FLOAT16, RedOp.SUM);
        Buffers.copyTo(halves, data);
        short[] expected = {Float.floatToFloat16(3), Float.floatToFloat16(-4)};
        assertArrayEquals(expected, halves);
    }

    @Test
    void whatCannotBeABufferIsRefused() {
        List<Object> wrong = List.of(new Integer[1], new char[1], "text", new boolean[1]);
        for (Object object : wrong) {
            refused(ErrorKind.BUFFER_NO_ARRAY, () -> Buffers.copyOf(object, Arena.ofAuto()));
            refused(ErrorKind.BUFFER_NO_ARRAY, () -> Buffers.typeOf(object));
        }
        refused(ErrorKind.BUFFER_NO_ARRAY, () -> Buffers.copyOf(null, Arena.ofAuto()));
        refused(ErrorKind.TYPE_UNKNOWN, () -> Buffers.typeOf(new short[1]));
        refused(ErrorKind.BUFFER_ON_HEAP, () -> Buffers.of(ByteBuffer.allocate(8)));
        refused(ErrorKind.BUFFER_ON_HEAP, () -> Buffers.of(IntBuffer.wrap(new int[1])));
        refused(ErrorKind.NULL_ARGUMENT, () -> Buffers.of(null));
        MemorySegment four = Arena.ofAuto().allocate(4);
        refused(ErrorKind.BUFFER_TOO_SMALL, () -> Buffers.copyTo(new int[2], four));
        refused(ErrorKind.NULL_ARGUMENT, () -> Buffers.copyOf(new int[2], null));
        refused(ErrorKind.NULL_ARGUMENT, () -> Buffers.copyTo(new int[2], null));
    }

    @Test
    void elementsInAnotherByteOrderAreRefused() {
        ByteBuffer bytes = ByteBuffer.allocateDirect(16).order(ByteOrder.BIG_ENDIAN);
        assertEquals(16, Buffers.of(bytes).byteSize());
        List<Buffer> foreign =
                List.of(
                        bytes.asShortBuffer(),
                        bytes.asCharBuffer(),
                        bytes.asIntBuffer(),
                        bytes.asLongBuffer(),
                        bytes.asFloatBuffer(),
                        bytes.asDoubleBuffer());
        foreign.forEach(each -> refused(ErrorKind.BUFFER_ORDER, () -> Buffers.of(each)));
        bytes.order(ByteOrder.nativeOrder());
        assertEquals(16, Buffers.of(bytes.asFloatBuffer()).byteSize());
    }

    @Test
    void memoryThatThisThreadCannotUseIsRefused() throws Exception {
        float[] array = new float[2];
        Arena closed = Arena.ofConfined();
        MemorySegment gone = closed.allocate(8, 8);
        closed.close();
        refused(ErrorKind.ARENA_CLOSED, () -> Buffers.copyTo(array, gone));
        refused(ErrorKind.ARENA_CLOSED, () -> Buffers.copyOf(array, closed));
        try (Arena mine = Arena.ofConfined();
                Communicator comm = Communicator.initAll(1).getFirst()) {
            MemorySegment data = mine.allocate(8, 8);
            refused(ErrorKind.ARENA_CLOSED, () -> comm.preMulSum(gone, DataType.FLOAT32));
            refused(ErrorKind.ARENA_CLOSED, () -> sum(comm, gone));
            FutureTask<Void> other =
                    new FutureTask<>(
                            () -> {
                                ErrorKind kind = ErrorKind.ARENA_OF_ANOTHER;
                                refused(kind, () -> Buffers.copyTo(array, data));
                                refused(kind, () -> Buffers.copyOf(array, mine));
                                refused(kind, () -> comm.preMulSum(data, DataType.FLOAT32));
                                refused(kind, () -> sum(comm, data));
                                return null;
                            });
            Thread.ofPlatform().start(other);
            other.get();
        }
    }

    private static void sum(Communicator comm, MemorySegment data) {
        comm.allReduce(data, data, 2, DataType.FLOAT32, RedOp.SUM);
    }

    private static void refused(ErrorKind kind, Executable call) {
        assertEquals(kind, assertThrows(NcclException.class, call).kind());
    }

    @Test
    void readOnlyDirectBuffersAreRefusedAsReceivers() {
        Cluster.threads(1)
                .runHere(
                        rank -> {
                            try (Communicator comm = rank.init()) {
                                MemorySegment data =
                                        Buffers.of(ByteBuffer.allocateDirect(4).asReadOnlyBuffer());
                                refused(
                                        ErrorKind.BUFFER_READ_ONLY,
                                        () -> comm.allGather(data, data, 1, DataType.INT32));
                            }
                        })
                .assertAllSucceeded();
    }
}
