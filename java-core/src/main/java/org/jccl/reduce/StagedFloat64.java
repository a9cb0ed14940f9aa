package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Folds float64 through heap tiles. */
final class StagedFloat64 {
    private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    /** A thread's accumulator and the source being added; see {@link StagedFold#TILE_BYTES}. */
    private static final ThreadLocal<double[][]> TILES =
            ThreadLocal.withInitial(() -> new double[2][StagedFold.TILE_BYTES / 8]);

    private StagedFloat64() {}

    static void fold(int op, long dst, long[] sources, int n, long count) {
        double[][] tiles = TILES.get();
        double[] x = tiles[0];
        double[] y = tiles[1];
        for (long done = 0; done < count; done += x.length) {
            int m = (int) Math.min(x.length, count - done);
            long at = done * 8;
            MemorySegment.copy(ALL, F64, sources[0] + at, x, 0, m);
            for (int k = 1; k < n; k++) {
                MemorySegment.copy(ALL, F64, sources[k] + at, y, 0, m);
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
            MemorySegment.copy(x, 0, ALL, F64, dst + at, m);
        }
    }

    private static void sum(double[] x, double[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] + y[i];
        }
    }

    private static void prod(double[] x, double[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] * y[i];
        }
    }

    private static void max(double[] x, double[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.max(x[i], y[i]);
        }
    }

    private static void min(double[] x, double[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.min(x[i], y[i]);
        }
    }

    private static void divide(double[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] / n;
        }
    }
}
