package org.jccl;

import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/**
 * Makes buffers for operations of what a program has. Operations take native memory: segments of an
 * {@link Arena}, which need nothing of this class, and direct buffers, by {@link #of}. Arrays of
 * byte, short, int, long, float or double are on Java's heap, where they may move at any time;
 * {@link #copyOf} copies them to native memory and {@link #copyTo} back, each once.
 *
 * <pre>{@code
 * float[] gradient = {1, 2, 3};
 * try (Arena arena = Arena.ofConfined()) {
 *     MemorySegment data = Buffers.copyOf(gradient, arena);
 *     comm.allReduce(data, data, gradient.length, Buffers.typeOf(gradient), RedOp.AVG);
 *     Buffers.copyTo(gradient, data);
 * }
 * }</pre>
 */
public final class Buffers {
    private static final long CACHE_LINE_BYTES = 64;

    private Buffers() {}

    /**
     * The memory of a direct buffer, from its position to its limit; nothing is copied. Operations
     * read elements in the machine's byte order: a ByteBuffer is bytes, whatever its order, but
     * what {@code asFloatBuffer()} and the like make has the order that the ByteBuffer had then,
     * and that is BIG_ENDIAN unless it was set. The buffer is not freed before the segment.
     *
     * @param buffer a direct buffer of {@code java.nio}, of any type
     * @throws NcclException INVALID_ARGUMENT if it is not direct (BUFFER_ON_HEAP), or has elements
     *     in another order than the machine's (BUFFER_ORDER)
     */
    public static MemorySegment of(Buffer buffer) {
        Doors.required("Buffers.of", "buffer", buffer);
        if (!buffer.isDirect()) {
            throw ErrorKind.BUFFER_ON_HEAP.says(
                    "Buffers.of: the %s is on the heap; make it by ByteBuffer.allocateDirect, or "
                            + "copy its array by Buffers.copyOf",
                    buffer.getClass().getSimpleName());
        }
        if (!order(buffer).equals(ByteOrder.nativeOrder())) {
            throw ErrorKind.BUFFER_ORDER.says(
                    "Buffers.of: the elements of the %s are %s; call order(ByteOrder.nativeOrder())"
                            + " on the ByteBuffer before you make it",
                    buffer.getClass().getSimpleName(), order(buffer));
        }
        return MemorySegment.ofBuffer(buffer);
    }

    private static ByteOrder order(Buffer buffer) {
        return switch (buffer) {
            case ShortBuffer shorts -> shorts.order();
            case CharBuffer chars -> chars.order();
            case IntBuffer ints -> ints.order();
            case LongBuffer longs -> longs.order();
            case FloatBuffer floats -> floats.order();
            case DoubleBuffer doubles -> doubles.order();
            default -> ByteOrder.nativeOrder();
        };
    }

    /**
     * A copy of an array in native memory, which begins at a cache line.
     *
     * @param array of byte, short, int, long, float or double
     * @param arena the owner of the copy
     * @throws NcclException INVALID_ARGUMENT for another object (BUFFER_NO_ARRAY), or if the arena
     *     is closed (ARENA_CLOSED) or another thread's (ARENA_OF_ANOTHER)
     */
    public static MemorySegment copyOf(Object array, Arena arena) {
        MemorySegment from = onHeap(array);
        Doors.required("Buffers.copyOf", "arena", arena);
        MemorySegment to;
        try {
            to = arena.allocate(from.byteSize(), CACHE_LINE_BYTES);
        } catch (IllegalStateException | WrongThreadException refused) {
            throw Doors.arena("Buffers.copyOf", "the copy", arena.scope());
        }
        return to.copyFrom(from);
    }

    /**
     * Copies the first elements of a segment into an array, as many as that has.
     *
     * @param array of byte, short, int, long, float or double
     * @param segment at least as many elements
     * @throws NcclException INVALID_ARGUMENT for another object (BUFFER_NO_ARRAY), if the segment
     *     is shorter (BUFFER_TOO_SMALL), or its arena closed (ARENA_CLOSED) or another thread's
     *     (ARENA_OF_ANOTHER)
     */
    public static void copyTo(Object array, MemorySegment segment) {
        MemorySegment to = onHeap(array);
        Doors.required("Buffers.copyTo", "segment", segment);
        Doors.requireUsable("Buffers.copyTo", "segment", segment);
        if (segment.byteSize() < to.byteSize()) {
            throw ErrorKind.BUFFER_TOO_SMALL.says(
                    "Buffers.copyTo: the segment has %s bytes, but the array %s; pass an array of "
                            + "as many elements as the segment holds",
                    segment.byteSize(), to.byteSize());
        }
        to.copyFrom(segment.asSlice(0, to.byteSize()));
    }

    /**
     * The type of the elements of an array: INT8, INT32, INT64, FLOAT32 or FLOAT64.
     *
     * @throws NcclException INVALID_ARGUMENT for shorts, which NCCL has no type of: they hold
     *     FLOAT16 or BFLOAT16 (TYPE_UNKNOWN); for another object (BUFFER_NO_ARRAY)
     */
    public static DataType typeOf(Object array) {
        return switch (array) {
            case byte[] _ -> DataType.INT8;
            case int[] _ -> DataType.INT32;
            case long[] _ -> DataType.INT64;
            case float[] _ -> DataType.FLOAT32;
            case double[] _ -> DataType.FLOAT64;
            case short[] _ ->
                    throw ErrorKind.TYPE_UNKNOWN.says(
                            "Buffers.typeOf: NCCL has no integers of 16 bits; name FLOAT16 or "
                                    + "BFLOAT16, whichever the shorts hold");
            case null, default -> throw noArray(array);
        };
    }

    private static MemorySegment onHeap(Object array) {
        return switch (array) {
            case byte[] bytes -> MemorySegment.ofArray(bytes);
            case short[] shorts -> MemorySegment.ofArray(shorts);
            case int[] ints -> MemorySegment.ofArray(ints);
            case long[] longs -> MemorySegment.ofArray(longs);
            case float[] floats -> MemorySegment.ofArray(floats);
            case double[] doubles -> MemorySegment.ofArray(doubles);
            case null, default -> throw noArray(array);
        };
    }

    private static NcclException noArray(@Nullable Object array) {
        return ErrorKind.BUFFER_NO_ARRAY.says(
                "Buffers: %s is no array of byte, short, int, long, float or double; pass one",
                array == null ? "null" : array.getClass().getSimpleName());
    }
}
