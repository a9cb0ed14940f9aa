package org.jccl.reduce;

import org.jccl.type.DataType;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;

/** A thread's arrays for staged folds of one type: 8 KiB, or 12. */
final class Tiles {
    private static final int BYTES = 4096;
    private static final int TYPES = DataType.values().length;

    private static final ThreadLocal<@Nullable Tiles[]> OF_THREAD =
            ThreadLocal.withInitial(() -> new @Nullable Tiles[TYPES]);

    /** The layout of the arrays' elements. */
    final ValueLayout layout;

    /** Elements of an array. */
    final int elements;

    /** What has been folded. */
    final Object sum;

    /** What is folded into it. */
    final Object next;

    /** Bits of floats. C2 vectorises no Float.intBitsToFloat, but copies from array to array. */
    final int[] bits;

    /** The same array as a segment. */
    final MemorySegment bitsSegment;

    /** A list of one source. */
    final long[] self = new long[1];

    private Tiles(DataType type) {
        this.layout = layout(type);
        this.elements = BYTES / (int) layout.byteSize();
        this.sum = Array.newInstance(layout.carrier(), elements);
        this.next = Array.newInstance(layout.carrier(), elements);
        boolean hasBits = type == DataType.BFLOAT16;
        this.bits = new int[hasBits ? elements : 0];
        this.bitsSegment = hasBits ? MemorySegment.ofArray(bits) : MemorySegment.NULL;
    }

    /** The layout of elements as they are folded: integers with a sign, narrow floats widened. */
    static ValueLayout layout(DataType type) {
        return switch (type.isInteger() ? type.sizeBytes() : 0) {
            case 1 -> ValueLayout.JAVA_BYTE;
            case 4 -> ValueLayout.JAVA_INT_UNALIGNED;
            case 8 -> ValueLayout.JAVA_LONG_UNALIGNED;
            default ->
                    type == DataType.FLOAT64
                            ? ValueLayout.JAVA_DOUBLE_UNALIGNED
                            : ValueLayout.JAVA_FLOAT_UNALIGNED;
        };
    }

    /** This thread's tiles for the type. */
    static Tiles of(DataType type) {
        @Nullable Tiles[] all = OF_THREAD.get();
        Tiles tiles = all[type.number()];
        if (tiles == null) {
            tiles = new Tiles(type);
            all[type.number()] = tiles;
        }
        return tiles;
    }
}
