package org.jccl.reduce;

import static jdk.incubator.vector.VectorOperators.UMAX;
import static jdk.incubator.vector.VectorOperators.UMIN;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

import java.lang.foreign.ValueLayout;

/** Folds 32-bit integers with the Vector API. An average is staged. */
final class VectorInt32 {
    private static final VectorSpecies<Integer> SPECIES = IntVector.SPECIES_PREFERRED;
    private static final int STEP = SPECIES.vectorByteSize();

    /** For what is left after the last long vector, and for small counts. */
    private static final VectorSpecies<Integer> SHORT = IntVector.SPECIES_128;

    private static final int SHORT_STEP = SHORT.vectorByteSize();
    private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;

    private VectorInt32() {}

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
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            int x = ALL.get(I32, a + at);
            int y = ALL.get(I32, b + at);
            ALL.set(I32, dst + at, x + y);
        }
    }

    /** dst = a + b + c, in this order. */
    static void sum3(long dst, long a, long b, long c, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(SPECIES, ALL, c + at, LITTLE_ENDIAN);
            x.add(y).add(z).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            int x = ALL.get(I32, a + at);
            int y = ALL.get(I32, b + at);
            int z = ALL.get(I32, c + at);
            ALL.set(I32, dst + at, x + y + z);
        }
    }

    /** dst = a + b + c + d, in this order. */
    static void sum4(long dst, long a, long b, long c, long d, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(SPECIES, ALL, c + at, LITTLE_ENDIAN);
            IntVector w = IntVector.fromMemorySegment(SPECIES, ALL, d + at, LITTLE_ENDIAN);
            x.add(y).add(z).add(w).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            int x = ALL.get(I32, a + at);
            int y = ALL.get(I32, b + at);
            int z = ALL.get(I32, c + at);
            int w = ALL.get(I32, d + at);
            ALL.set(I32, dst + at, x + y + z + w);
        }
    }

    private static void prod(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.mul(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.mul(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            int x = ALL.get(I32, a + at);
            int y = ALL.get(I32, b + at);
            ALL.set(I32, dst + at, x * y);
        }
    }

    private static void max(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.max(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.max(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            int x = ALL.get(I32, a + at);
            int y = ALL.get(I32, b + at);
            ALL.set(I32, dst + at, Math.max(x, y));
        }
    }

    private static void min(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.min(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.min(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            int x = ALL.get(I32, a + at);
            int y = ALL.get(I32, b + at);
            ALL.set(I32, dst + at, Math.min(x, y));
        }
    }

    private static void maxUnsigned(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMAX, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMAX, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            int x = ALL.get(I32, a + at);
            int y = ALL.get(I32, b + at);
            ALL.set(I32, dst + at, Integer.compareUnsigned(x, y) >= 0 ? x : y);
        }
    }

    private static void minUnsigned(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMIN, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMIN, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            int x = ALL.get(I32, a + at);
            int y = ALL.get(I32, b + at);
            ALL.set(I32, dst + at, Integer.compareUnsigned(x, y) <= 0 ? x : y);
        }
    }
}
