package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Folds 8-bit integers through heap tiles; sums and products wrap. */
final class StagedInt8 {
    private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;

    /** A thread's accumulator and the source being added; see {@link StagedFold#TILE_BYTES}. */
    private static final ThreadLocal<byte[][]> TILES =
            ThreadLocal.withInitial(() -> new byte[2][StagedFold.TILE_BYTES]);

    private StagedInt8() {}

    static void fold(int op, boolean unsigned, long dst, long[] sources, int n, long count) {
        byte[][] tiles = TILES.get();
        byte[] x = tiles[0];
        byte[] y = tiles[1];
        for (long done = 0; done < count; done += x.length) {
            int m = (int) Math.min(x.length, count - done);
            long at = done;
            MemorySegment.copy(ALL, I8, sources[0] + at, x, 0, m);
            for (int k = 1; k < n; k++) {
                MemorySegment.copy(ALL, I8, sources[k] + at, y, 0, m);
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
            MemorySegment.copy(x, 0, ALL, I8, dst + at, m);
        }
    }

    private static void sum(byte[] x, byte[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) (x[i] + y[i]);
        }
    }

    private static void prod(byte[] x, byte[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) (x[i] * y[i]);
        }
    }

    private static void max(byte[] x, byte[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) Math.max(x[i], y[i]);
        }
    }

    private static void min(byte[] x, byte[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) Math.min(x[i], y[i]);
        }
    }

    private static void maxUnsigned(byte[] x, byte[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) Math.max(x[i] & 0xff, y[i] & 0xff);
        }
    }

    private static void minUnsigned(byte[] x, byte[] y, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) Math.min(x[i] & 0xff, y[i] & 0xff);
        }
    }

    private static void divide(byte[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) (x[i] / n);
        }
    }

    private static void divideUnsigned(byte[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) ((x[i] & 0xff) / n);
        }
    }
}
