package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Folds 64-bit integers through heap tiles; sums and products wrap. */
final class StagedInt64 {
    private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

    /** A thread's accumulator and the source being added; see {@link StagedFold#TILE_BYTES}. */
    private static final ThreadLocal<long[][]> TILES =
            ThreadLocal.withInitial(() -> new long[2][StagedFold.TILE_BYTES / 8]);

    private StagedInt64() {}

    static void fold(int op, boolean unsigned, long dst, long[] sources, int n, long count) {
        long[][] tiles = TILES.get();
        long[] x = tiles[0];
        long[] y = tiles[1];
        for (long done = 0; done < count; done += x.length) {
            int m = (int) Math.min(x.length, count - done);
            long at = done * 8;
            MemorySegment.copy(ALL, I64, sources[0] + at, x, 0, m);
            for (int k = 1; k < n; k++) {
                MemorySegment.copy(ALL, I64, sources[k] + at, y, 0, m);
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
            MemorySegment.copy(x, 0, ALL, I64, dst + at, m);
        }
    }

    private static void sum(long[] x, long[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] + y[i];
        }
    }

    private static void prod(long[] x, long[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] * y[i];
        }
    }

    private static void max(long[] x, long[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.max(x[i], y[i]);
        }
    }

    private static void min(long[] x, long[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.min(x[i], y[i]);
        }
    }

    private static void maxUnsigned(long[] x, long[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.max(x[i] ^ Long.MIN_VALUE, y[i] ^ Long.MIN_VALUE) ^ Long.MIN_VALUE;
        }
    }

    private static void minUnsigned(long[] x, long[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Math.min(x[i] ^ Long.MIN_VALUE, y[i] ^ Long.MIN_VALUE) ^ Long.MIN_VALUE;
        }
    }

    private static void divide(long[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] / n;
        }
    }

    private static void divideUnsigned(long[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = Long.divideUnsigned(x[i], n);
        }
    }
}
