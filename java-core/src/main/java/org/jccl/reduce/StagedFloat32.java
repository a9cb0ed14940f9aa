package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Folds float32 through heap tiles, whose loops C2 vectorises without the Vector API. */
final class StagedFloat32 {
    private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

    /** A thread's accumulator and the source being added; see {@link StagedFold#TILE_BYTES}. */
    private static final ThreadLocal<float[][]> TILES =
            ThreadLocal.withInitial(() -> new float[2][StagedFold.TILE_BYTES / 4]);

    private StagedFloat32() {}

    static void fold(int op, long dst, long[] sources, int n, long count) {
        float[][] tiles = TILES.get();
        float[] x = tiles[0];
        float[] y = tiles[1];
        for (long done = 0; done < count; done += x.length) {
            int m = (int) Math.min(x.length, count - done);
            long at = done * 4;
            MemorySegment.copy(ALL, F32, sources[0] + at, x, 0, m);
            for (int k = 1; k < n; k++) {
                MemorySegment.copy(ALL, F32, sources[k] + at, y, 0, m);
                combine(op, x, y, m);
            }
            if (op == AVG) {
                divide(x, n, m);
            }
            MemorySegment.copy(x, 0, ALL, F32, dst + at, m);
        }
    }

    /** x = x op y, for the first m elements; an average's is the sum. */
    static void combine(int op, float[] x, float[] y, int m) {
        switch (op) {
            case PROD -> prod(x, y, m);
            case MAX -> max(x, y, m);
            case MIN -> min(x, y, m);
            default -> sum(x, y, m);
        }
    }

    /** x = x / n. */
    static void divide(float[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] / n;
        }
    }

    private static void sum(float[] x, float[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] + y[i];
        }
    }

    private static void prod(float[] x, float[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] * y[i];
        }
    }

    private static void max(float[] x, float[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.max(x[i], y[i]);
        }
    }

    private static void min(float[] x, float[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.min(x[i], y[i]);
        }
    }
}
