package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Folds bfloat16 through heap tiles, accumulating in float32 and rounding once. Two elements are
 * read as one int and split by shift and mask, and bits become floats by a copy between arrays: C2
 * vectorises all of that, but neither the widening of shorts nor Float.intBitsToFloat.
 */
final class StagedBfloat16 {
    private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;

    /** Pairs of elements in a tile. */
    private static final int PAIRS = StagedFold.TILE_BYTES / 4;

    private static final ThreadLocal<Tiles> TILES = ThreadLocal.withInitial(Tiles::new);

    private StagedBfloat16() {}

    static void fold(int op, long dst, long[] sources, int n, long count) {
        Tiles tiles = TILES.get();
        long pairs = count / 2;
        for (long done = 0; done < pairs; done += PAIRS) {
            int m = (int) Math.min(PAIRS, pairs - done);
            foldTile(op, tiles, dst, sources, done * 4, n, m);
        }
        if (count % 2 != 0) {
            foldLast(op, dst, sources, (count - 1) * 2, n);
        }
    }

    private static void foldTile(
            int op, Tiles tiles, long dst, long[] sources, long at, int n, int m) {
        int[] pairs = tiles.pairs;
        MemorySegment.copy(ALL, I32, sources[0] + at, pairs, 0, m);
        tiles.sumLow.widenLow(pairs, m);
        tiles.sumHigh.widenHigh(pairs, m);
        for (int k = 1; k < n; k++) {
            MemorySegment.copy(ALL, I32, sources[k] + at, pairs, 0, m);
            tiles.next.widenLow(pairs, m);
            StagedFloat32.combine(op, tiles.sumLow.values, tiles.next.values, m);
            tiles.next.widenHigh(pairs, m);
            StagedFloat32.combine(op, tiles.sumHigh.values, tiles.next.values, m);
        }
        if (op == AVG) {
            StagedFloat32.divide(tiles.sumLow.values, n, m);
            StagedFloat32.divide(tiles.sumHigh.values, n, m);
        }
        tiles.sumLow.takeBits(m);
        tiles.sumHigh.takeBits(m);
        join(pairs, tiles.sumLow.bits, tiles.sumHigh.bits, m);
        MemorySegment.copy(pairs, 0, ALL, I32, dst + at, m);
    }

    private static void foldLast(int op, long dst, long[] sources, long at, int n) {
        float x = wide(sources[0] + at);
        for (int k = 1; k < n; k++) {
            float y = wide(sources[k] + at);
            x =
                    switch (op) {
                        case PROD -> x * y;
                        case MAX -> Math.max(x, y);
                        case MIN -> Math.min(x, y);
                        default -> x + y;
                    };
        }
        ALL.set(
                ValueLayout.JAVA_SHORT_UNALIGNED,
                dst + at,
                ScalarFold.toBfloat16(op == AVG ? x / n : x));
    }

    private static float wide(long address) {
        return Float.intBitsToFloat(ALL.get(ValueLayout.JAVA_SHORT_UNALIGNED, address) << 16);
    }

    /** Rounds both to nearest even. A NaN stays one, as {@link NarrowTemplate} explains. */
    private static void join(int[] pairs, int[] low, int[] high, int m) {
        for (int i = 0; i < m; i++) {
            int x = low[i];
            int y = high[i];
            int lower = (x + 0x7fff + ((x >>> 16) & 1)) >>> 16;
            int upper = (y + 0x7fff + ((y >>> 16) & 1)) & 0xffff0000;
            pairs[i] = lower | upper;
        }
    }

    private static final class Tiles {
        final int[] pairs = new int[PAIRS];
        final Wide sumLow = new Wide();
        final Wide sumHigh = new Wide();
        final Wide next = new Wide();
    }

    /** The lower or the upper elements of the pairs, as float32 and as its bits. */
    private static final class Wide {
        final int[] bits = new int[PAIRS];
        final float[] values = new float[PAIRS];
        private final MemorySegment bitsSegment = MemorySegment.ofArray(bits);
        private final MemorySegment valuesSegment = MemorySegment.ofArray(values);

        void widenLow(int[] pairs, int m) {
            shift(bits, pairs, m);
            MemorySegment.copy(bitsSegment, 0, valuesSegment, 0, 4L * m);
        }

        void widenHigh(int[] pairs, int m) {
            mask(bits, pairs, m);
            MemorySegment.copy(bitsSegment, 0, valuesSegment, 0, 4L * m);
        }

        void takeBits(int m) {
            MemorySegment.copy(valuesSegment, 0, bitsSegment, 0, 4L * m);
        }

        private static void shift(int[] bits, int[] pairs, int m) {
            for (int i = 0; i < m; i++) {
                bits[i] = pairs[i] << 16;
            }
        }

        private static void mask(int[] bits, int[] pairs, int m) {
            for (int i = 0; i < m; i++) {
                bits[i] = pairs[i] & 0xffff0000;
            }
        }
    }
}
