package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;
import static org.jccl.reduce.Fold.SUM;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Folds float16 through heap tiles, accumulating in float32 and rounding once. C2 turns the
 * conversions into vector instructions here, which the Vector API does not offer.
 */
final class StagedFloat16 {
    private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;

    private static final int ELEMENTS = StagedFold.TILE_BYTES / 2;

    private static final ThreadLocal<Tiles> TILES = ThreadLocal.withInitial(Tiles::new);

    private StagedFloat16() {}

    static void fold(int op, long dst, long[] sources, int n, long count) {
        Tiles tiles = TILES.get();
        short[] x = tiles.first;
        short[] y = tiles.next;
        for (long done = 0; done < count; done += ELEMENTS) {
            int m = (int) Math.min(ELEMENTS, count - done);
            long at = done * 2;
            MemorySegment.copy(ALL, I16, sources[0] + at, x, 0, m);
            if (n == 2 && op == SUM) {
                MemorySegment.copy(ALL, I16, sources[1] + at, y, 0, m);
                sumAndRound(tiles.rounded, x, y, m);
            } else {
                foldWide(op, tiles, sources, at, n, m);
            }
            MemorySegment.copy(tiles.rounded, 0, ALL, I16, dst + at, m);
        }
    }

    private static void foldWide(int op, Tiles tiles, long[] sources, long at, int n, int m) {
        short[] y = tiles.next;
        float[] wide = tiles.wide;
        widen(wide, tiles.first, m);
        for (int k = 1; k < n; k++) {
            MemorySegment.copy(ALL, I16, sources[k] + at, y, 0, m);
            switch (op) {
                case PROD -> prod(wide, y, m);
                case MAX -> max(wide, y, m);
                case MIN -> min(wide, y, m);
                default -> sum(wide, y, m);
            }
        }
        if (op == AVG) {
            divide(wide, n, m);
        }
        round(tiles.rounded, wide, m);
    }

    private static void sumAndRound(short[] rounded, short[] x, short[] y, int m) {
        for (int i = 0; i < m; i++) {
            rounded[i] =
                    Float.floatToFloat16(Float.float16ToFloat(x[i]) + Float.float16ToFloat(y[i]));
        }
    }

    private static void widen(float[] wide, short[] x, int m) {
        for (int i = 0; i < m; i++) {
            wide[i] = Float.float16ToFloat(x[i]);
        }
    }

    private static void sum(float[] wide, short[] y, int m) {
        for (int i = 0; i < m; i++) {
            wide[i] += Float.float16ToFloat(y[i]);
        }
    }

    private static void prod(float[] wide, short[] y, int m) {
        for (int i = 0; i < m; i++) {
            wide[i] *= Float.float16ToFloat(y[i]);
        }
    }

    private static void max(float[] wide, short[] y, int m) {
        for (int i = 0; i < m; i++) {
            wide[i] = Math.max(wide[i], Float.float16ToFloat(y[i]));
        }
    }

    private static void min(float[] wide, short[] y, int m) {
        for (int i = 0; i < m; i++) {
            wide[i] = Math.min(wide[i], Float.float16ToFloat(y[i]));
        }
    }

    private static void divide(float[] wide, int n, int m) {
        for (int i = 0; i < m; i++) {
            wide[i] /= n;
        }
    }

    private static void round(short[] x, float[] wide, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Float.floatToFloat16(wide[i]);
        }
    }

    private static final class Tiles {
        final short[] first = new short[ELEMENTS];
        final short[] next = new short[ELEMENTS];
        final short[] rounded = new short[ELEMENTS];
        final float[] wide = new float[ELEMENTS];
    }
}
