package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Folds 32-bit integers through heap tiles; sums and products wrap. */
final class StagedInt32 {
    private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;

    /** A thread's accumulator and the source being added; see {@link StagedFold#TILE_BYTES}. */
    private static final ThreadLocal<int[][]> TILES =
            ThreadLocal.withInitial(() -> new int[2][StagedFold.TILE_BYTES / 4]);

    private StagedInt32() {}

    static void fold(int op, boolean unsigned, long dst, long[] sources, int n, long count) {
        int[][] tiles = TILES.get();
        int[] x = tiles[0];
        int[] y = tiles[1];
        for (long done = 0; done < count; done += x.length) {
            int m = (int) Math.min(x.length, count - done);
            long at = done * 4;
            MemorySegment.copy(ALL, I32, sources[0] + at, x, 0, m);
            for (int k = 1; k < n; k++) {
                MemorySegment.copy(ALL, I32, sources[k] + at, y, 0, m);
                switch (op) {
                    case PROD -> prod(x, y, m);
                    case MAX -> {
                        if (unsigned) {
                            maxUnsigned(x, y, m);
                        } else {
                            max(x, y, m);
                        }
                    }
                    case MIN -> {
                        if (unsigned) {
                            minUnsigned(x, y, m);
                        } else {
                            min(x, y, m);
                        }
                    }
                    default -> sum(x, y, m);
                }
            }
            if (op == AVG && unsigned) {
                divideUnsigned(x, n, m);
            } else if (op == AVG) {
                divide(x, n, m);
            }
            MemorySegment.copy(x, 0, ALL, I32, dst + at, m);
        }
    }

    private static void sum(int[] x, int[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] + y[i];
        }
    }

    private static void prod(int[] x, int[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] * y[i];
        }
    }

    private static void max(int[] x, int[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.max(x[i], y[i]);
        }
    }

    private static void min(int[] x, int[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.min(x[i], y[i]);
        }
    }

    private static void maxUnsigned(int[] x, int[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.max(x[i] ^ Integer.MIN_VALUE, y[i] ^ Integer.MIN_VALUE) ^ Integer.MIN_VALUE;
        }
    }

    private static void minUnsigned(int[] x, int[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.min(x[i] ^ Integer.MIN_VALUE, y[i] ^ Integer.MIN_VALUE) ^ Integer.MIN_VALUE;
        }
    }

    /**
     * By floating point, which has vector instructions. Exact: a quotient that is no integer is
     * farther from the next one than 53 bits can be off.
     */
    private static void divide(int[] x, int n, int m) {
        double divisor = n;
        for (int i = 0; i < m; i++) {
            x[i] = (int) (x[i] / divisor);
        }
    }

    private static void divideUnsigned(int[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Integer.divideUnsigned(x[i], n);
        }
    }
}
