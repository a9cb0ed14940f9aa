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
        float[] x = tiles.sum;
        float[] y = tiles.next;
        int[] pairs = tiles.pairs;
        int[] bits = tiles.bits;
        long bytes = 8L * m;
        MemorySegment.copy(ALL, I32, sources[0] + at, pairs, 0, m);
        split(bits, pairs, m);
        MemorySegment.copy(tiles.bitsSegment, 0, tiles.sumSegment, 0, bytes);
        for (int k = 1; k < n; k++) {
            MemorySegment.copy(ALL, I32, sources[k] + at, pairs, 0, m);
            split(bits, pairs, m);
            MemorySegment.copy(tiles.bitsSegment, 0, tiles.nextSegment, 0, bytes);
            switch (op) {
                case PROD -> prod(x, y, m);
                case MAX -> max(x, y, m);
                case MIN -> min(x, y, m);
                default -> sum(x, y, m);
            }
        }
        if (op == AVG) {
            divide(x, n, m);
        }
        MemorySegment.copy(tiles.sumSegment, 0, tiles.bitsSegment, 0, bytes);
        join(pairs, bits, m);
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

    private static void split(int[] bits, int[] pairs, int m) {
        for (int i = 0; i < m; i++) {
            bits[i] = pairs[i] << 16;
        }
        for (int i = 0; i < m; i++) {
            bits[m + i] = pairs[i] & 0xffff0000;
        }
    }

    /** Rounds both halves to nearest even; {@code nan} is all ones where a NaN must stay one. */
    private static void join(int[] pairs, int[] bits, int m) {
        for (int i = 0; i < m; i++) {
            int low = bits[i];
            int nan = (0x7f800000 - (low & 0x7fffffff)) >> 31;
            int rounded = low + 0x7fff + ((low >>> 16) & 1);
            pairs[i] = ((rounded & ~nan) | ((low | 0x400000) & nan)) >>> 16;
        }
        for (int i = 0; i < m; i++) {
            int high = bits[m + i];
            int nan = (0x7f800000 - (high & 0x7fffffff)) >> 31;
            int rounded = high + 0x7fff + ((high >>> 16) & 1);
            pairs[i] |= ((rounded & ~nan) | ((high | 0x400000) & nan)) & 0xffff0000;
        }
    }

    private static void sum(float[] x, float[] y, int m) {
        for (int i = 0; i < 2 * m; i++) {
            x[i] += y[i];
        }
    }

    private static void prod(float[] x, float[] y, int m) {
        for (int i = 0; i < 2 * m; i++) {
            x[i] *= y[i];
        }
    }

    private static void max(float[] x, float[] y, int m) {
        for (int i = 0; i < 2 * m; i++) {
            x[i] = Math.max(x[i], y[i]);
        }
    }

    private static void min(float[] x, float[] y, int m) {
        for (int i = 0; i < 2 * m; i++) {
            x[i] = Math.min(x[i], y[i]);
        }
    }

    private static void divide(float[] x, int n, int m) {
        for (int i = 0; i < 2 * m; i++) {
            x[i] /= n;
        }
    }

    /**
     * In the wide arrays of a tile of m pairs the m lower elements come before the m upper ones.
     */
    private static final class Tiles {
        final int[] pairs = new int[PAIRS];
        final int[] bits = new int[2 * PAIRS];
        final float[] sum = new float[2 * PAIRS];
        final float[] next = new float[2 * PAIRS];
        final MemorySegment bitsSegment = MemorySegment.ofArray(bits);
        final MemorySegment sumSegment = MemorySegment.ofArray(sum);
        final MemorySegment nextSegment = MemorySegment.ofArray(next);
    }
}
