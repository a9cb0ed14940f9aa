package org.jccl.reduce;

import static java.lang.Math.max;
import static java.lang.Math.min;

import org.jccl.type.RedOp;

/**
 * x = x op y and x = x / n, for each type of arrays. An average's operation is the sum. Integers
 * are compared as signed ones after some of their bits have been flipped: the upper one where they
 * are unsigned, and all where the least is wanted.
 *
 * <p>C2 vectorises these loops, but for the comparison of bytes and the division of longs. It
 * splits a loop by one condition that does not change, but not by more.
 */
final class Loops {
    static final int PROD = RedOp.PROD.number();
    static final int MAX = RedOp.MAX.number();
    static final int MIN = RedOp.MIN.number();

    private Loops() {}

    static void combine(int op, float[] x, float[] y, int m) {
        if (op == MAX || op == MIN) {
            for (int i = 0; i < m; i++) {
                x[i] = op == MAX ? max(x[i], y[i]) : min(x[i], y[i]);
            }
        } else {
            for (int i = 0; i < m; i++) {
                x[i] = op == PROD ? x[i] * y[i] : x[i] + y[i];
            }
        }
    }

    static void combine(int op, double[] x, double[] y, int m) {
        if (op == MAX || op == MIN) {
            for (int i = 0; i < m; i++) {
                x[i] = op == MAX ? max(x[i], y[i]) : min(x[i], y[i]);
            }
        } else {
            for (int i = 0; i < m; i++) {
                x[i] = op == PROD ? x[i] * y[i] : x[i] + y[i];
            }
        }
    }

    static void combine(int op, int flip, byte[] x, byte[] y, int m) {
        if (op == MAX || op == MIN) {
            for (int i = 0; i < m; i++) {
                x[i] = (byte) (max(x[i] ^ flip, y[i] ^ flip) ^ flip);
            }
        } else {
            for (int i = 0; i < m; i++) {
                x[i] = (byte) (op == PROD ? x[i] * y[i] : x[i] + y[i]);
            }
        }
    }

    static void combine(int op, int flip, int[] x, int[] y, int m) {
        if (op == MAX || op == MIN) {
            for (int i = 0; i < m; i++) {
                x[i] = max(x[i] ^ flip, y[i] ^ flip) ^ flip;
            }
        } else {
            for (int i = 0; i < m; i++) {
                x[i] = op == PROD ? x[i] * y[i] : x[i] + y[i];
            }
        }
    }

    static void combine(int op, long flip, long[] x, long[] y, int m) {
        if (op == MAX || op == MIN) {
            for (int i = 0; i < m; i++) {
                x[i] = max(x[i] ^ flip, y[i] ^ flip) ^ flip;
            }
        } else {
            for (int i = 0; i < m; i++) {
                x[i] = op == PROD ? x[i] * y[i] : x[i] + y[i];
            }
        }
    }

    static void divide(float[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] / n;
        }
    }

    static void divide(double[] x, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = x[i] / n;
        }
    }

    /**
     * By floating point, which has vector instructions. Exact: a quotient that is no integer is
     * farther from the next one than the rounding can be off.
     *
     * @param mask 0xff where the bytes are unsigned, else -1
     */
    static void divide(byte[] x, int mask, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = (byte) (int) ((x[i] & mask) / (float) n);
        }
    }

    /** By floating point, too. */
    static void divide(int[] x, boolean isUnsigned, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] =
                    isUnsigned
                            ? (int) (long) (Integer.toUnsignedLong(x[i]) / (double) n)
                            : (int) (x[i] / (double) n);
        }
    }

    static void divide(long[] x, boolean isUnsigned, int n, int m) {
        for (int i = 0; i < m; i++) {
            x[i] = isUnsigned ? Long.divideUnsigned(x[i], n) : x[i] / n;
        }
    }
}
