package org.jccl.reduce;

import static jdk.incubator.vector.VectorOperators.UMAX;
import static jdk.incubator.vector.VectorOperators.UMIN;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorSpecies;

import java.lang.foreign.ValueLayout;

/** Folds 64-bit integers with the Vector API. An average is staged. */
final class VectorInt64 {
    private static final VectorSpecies<Long> SPECIES = LongVector.SPECIES_PREFERRED;
    private static final int STEP = SPECIES.vectorByteSize();

    /** For what is left after the last long vector, and for small counts. */
    private static final VectorSpecies<Long> SHORT = LongVector.SPECIES_128;

    private static final int SHORT_STEP = SHORT.vectorByteSize();
    private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

    private VectorInt64() {}

    /** dst = a op b, but for AVG just the sum. */
    static void pair(int op, boolean unsigned, long dst, long a, long b, long count) {
        switch (op) {
            case PROD -> prod(dst, a, b, count);
            case MAX -> {
                if (unsigned) {
                    maxUnsigned(dst, a, b, count);
                } else {
                    max(dst, a, b, count);
                }
            }
            case MIN -> {
                if (unsigned) {
                    minUnsigned(dst, a, b, count);
                } else {
                    min(dst, a, b, count);
                }
            }
            default -> sum(dst, a, b, count);
        }
    }

    private static void sum(long dst, long a, long b, long count) {
        long bytes = count * 8;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            LongVector x = LongVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            LongVector x = LongVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 8) {
            long x = ALL.get(I64, a + at);
            long y = ALL.get(I64, b + at);
            ALL.set(I64, dst + at, x + y);
        }
    }

    /** dst = a + b + c, in this order. */
    static void sum3(long dst, long a, long b, long c, long count) {
        long bytes = count * 8;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            LongVector x = LongVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            LongVector z = LongVector.fromMemorySegment(SPECIES, ALL, c + at, LITTLE_ENDIAN);
            x.add(y).add(z).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 8) {
            long x = ALL.get(I64, a + at);
            long y = ALL.get(I64, b + at);
            long z = ALL.get(I64, c + at);
            ALL.set(I64, dst + at, x + y + z);
        }
    }

    /** dst = a + b + c + d, in this order. */
    static void sum4(long dst, long a, long b, long c, long d, long count) {
        long bytes = count * 8;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            LongVector x = LongVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            LongVector z = LongVector.fromMemorySegment(SPECIES, ALL, c + at, LITTLE_ENDIAN);
            LongVector w = LongVector.fromMemorySegment(SPECIES, ALL, d + at, LITTLE_ENDIAN);
            x.add(y).add(z).add(w).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 8) {
            long x = ALL.get(I64, a + at);
            long y = ALL.get(I64, b + at);
            long z = ALL.get(I64, c + at);
            long w = ALL.get(I64, d + at);
            ALL.set(I64, dst + at, x + y + z + w);
        }
    }

    private static void prod(long dst, long a, long b, long count) {
        long bytes = count * 8;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            LongVector x = LongVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.mul(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            LongVector x = LongVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.mul(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 8) {
            long x = ALL.get(I64, a + at);
            long y = ALL.get(I64, b + at);
            ALL.set(I64, dst + at, x * y);
        }
    }

    private static void max(long dst, long a, long b, long count) {
        long bytes = count * 8;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            LongVector x = LongVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.max(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            LongVector x = LongVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.max(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 8) {
            long x = ALL.get(I64, a + at);
            long y = ALL.get(I64, b + at);
            ALL.set(I64, dst + at, Math.max(x, y));
        }
    }

    private static void min(long dst, long a, long b, long count) {
        long bytes = count * 8;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            LongVector x = LongVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.min(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            LongVector x = LongVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.min(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 8) {
            long x = ALL.get(I64, a + at);
            long y = ALL.get(I64, b + at);
            ALL.set(I64, dst + at, Math.min(x, y));
        }
    }

    private static void maxUnsigned(long dst, long a, long b, long count) {
        long bytes = count * 8;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            LongVector x = LongVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMAX, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            LongVector x = LongVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMAX, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 8) {
            long x = ALL.get(I64, a + at);
            long y = ALL.get(I64, b + at);
            ALL.set(I64, dst + at, Long.compareUnsigned(x, y) >= 0 ? x : y);
        }
    }

    private static void minUnsigned(long dst, long a, long b, long count) {
        long bytes = count * 8;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            LongVector x = LongVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMIN, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            LongVector x = LongVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            LongVector y = LongVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMIN, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 8) {
            long x = ALL.get(I64, a + at);
            long y = ALL.get(I64, b + at);
            ALL.set(I64, dst + at, Long.compareUnsigned(x, y) <= 0 ? x : y);
        }
    }
}
