package org.jccl.reduce;

import org.jccl.type.DataType;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;

/** A thread's arrays for staged folds of one type: 8 KiB, and 20 for a narrow float. */
final class Tiles {
    private static final int BYTES = 4096;
    private static final int TYPES = DataType.values().length;

    private static final ThreadLocal<@Nullable Tiles @Nullable []> OF_THREAD = new ThreadLocal<>();

    /** Of an element of the arrays: integers are folded with their sign, narrow floats widened. */
    final ValueLayout layout;

    /** Elements of an array. */
    final int elements;

    /** What has been folded, an array of the layout's type. */
    final Object sum;

    /** What is folded into it. */
    final Object next;

    /** Of narrow floats: bits of the sum, and what is made of them. */
    final Bits bits;

    final Bits sums;
    final Bits anchors;

    /** A list of one source. */
    final long[] self = new long[1];

    private Tiles(DataType type) {
        this.layout = layout(type);
        this.elements = BYTES / (int) layout.byteSize();
        this.sum = Array.newInstance(layout.carrier(), elements);
        this.next = Array.newInstance(layout.carrier(), elements);
        boolean isNarrow = NarrowFloat.of(type) != null;
        this.bits = new Bits(isNarrow ? elements : 0);
        this.sums = new Bits(isNarrow ? elements : 0);
        this.anchors = new Bits(isNarrow ? elements : 0);
    }

    private static ValueLayout layout(DataType type) {
        return switch (type) {
            case INT8, UINT8 -> ValueLayout.JAVA_BYTE;
            case INT32, UINT32 -> ValueLayout.JAVA_INT_UNALIGNED;
            case INT64, UINT64 -> ValueLayout.JAVA_LONG_UNALIGNED;
            case FLOAT64 -> ValueLayout.JAVA_DOUBLE_UNALIGNED;
            default -> ValueLayout.JAVA_FLOAT_UNALIGNED;
        };
    }

    /** This thread's for the type. */
    static Tiles of(DataType type) {
        @Nullable Tiles[] all = OF_THREAD.get();
        if (all == null) {
            all = new Tiles[TYPES];
            OF_THREAD.set(all);
        }
        Tiles tiles = all[type.number()];
        if (tiles == null) {
            tiles = new Tiles(type);
            all[type.number()] = tiles;
        }
        return tiles;
    }

    /** C2 vectorises no Float.intBitsToFloat: bits become floats by a copy between arrays. */
    static final class Bits {
        final int[] array;
        private final MemorySegment segment;

        private Bits(int elements) {
            this.array = new int[elements];
            this.segment = MemorySegment.ofArray(array);
        }

        void toFloats(float[] floats, int m) {
            MemorySegment.copy(segment, ValueLayout.JAVA_FLOAT, 0, floats, 0, m);
        }

        void ofFloats(float[] floats, int m) {
            MemorySegment.copy(floats, 0, segment, ValueLayout.JAVA_FLOAT, 0, m);
        }
    }
}
