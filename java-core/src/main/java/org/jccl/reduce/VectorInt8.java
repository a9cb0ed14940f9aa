package org.jccl.reduce;

import static jdk.incubator.vector.VectorOperators.UMAX;
import static jdk.incubator.vector.VectorOperators.UMIN;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorSpecies;

import java.lang.foreign.ValueLayout;

/** Folds 8-bit integers with the Vector API. An average is staged. */
final class VectorInt8 {
    private static final VectorSpecies<Byte> SPECIES = ByteVector.SPECIES_PREFERRED;
    private static final int STEP = SPECIES.vectorByteSize();

    /** For what is left after the last long vector, and for small counts. */
    private static final VectorSpecies<Byte> SHORT = ByteVector.SPECIES_128;

    private static final int SHORT_STEP = SHORT.vectorByteSize();
    private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;

    private VectorInt8() {}

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
        long bytes = count;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at++) {
            byte x = ALL.get(I8, a + at);
            byte y = ALL.get(I8, b + at);
            ALL.set(I8, dst + at, (byte) (x + y));
        }
    }

    /** dst = a + b + c, in this order. */
    static void sum3(long dst, long a, long b, long c, long count) {
        long bytes = count;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            ByteVector z = ByteVector.fromMemorySegment(SPECIES, ALL, c + at, LITTLE_ENDIAN);
            x.add(y).add(z).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at++) {
            byte x = ALL.get(I8, a + at);
            byte y = ALL.get(I8, b + at);
            byte z = ALL.get(I8, c + at);
            ALL.set(I8, dst + at, (byte) (x + y + z));
        }
    }

    /** dst = a + b + c + d, in this order. */
    static void sum4(long dst, long a, long b, long c, long d, long count) {
        long bytes = count;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            ByteVector z = ByteVector.fromMemorySegment(SPECIES, ALL, c + at, LITTLE_ENDIAN);
            ByteVector w = ByteVector.fromMemorySegment(SPECIES, ALL, d + at, LITTLE_ENDIAN);
            x.add(y).add(z).add(w).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at++) {
            byte x = ALL.get(I8, a + at);
            byte y = ALL.get(I8, b + at);
            byte z = ALL.get(I8, c + at);
            byte w = ALL.get(I8, d + at);
            ALL.set(I8, dst + at, (byte) (x + y + z + w));
        }
    }

    private static void prod(long dst, long a, long b, long count) {
        long bytes = count;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.mul(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.mul(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at++) {
            byte x = ALL.get(I8, a + at);
            byte y = ALL.get(I8, b + at);
            ALL.set(I8, dst + at, (byte) (x * y));
        }
    }

    private static void max(long dst, long a, long b, long count) {
        long bytes = count;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.max(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.max(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at++) {
            byte x = ALL.get(I8, a + at);
            byte y = ALL.get(I8, b + at);
            ALL.set(I8, dst + at, (byte) Math.max(x, y));
        }
    }

    private static void min(long dst, long a, long b, long count) {
        long bytes = count;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.min(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.min(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at++) {
            byte x = ALL.get(I8, a + at);
            byte y = ALL.get(I8, b + at);
            ALL.set(I8, dst + at, (byte) Math.min(x, y));
        }
    }

    private static void maxUnsigned(long dst, long a, long b, long count) {
        long bytes = count;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMAX, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMAX, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at++) {
            byte x = ALL.get(I8, a + at);
            byte y = ALL.get(I8, b + at);
            ALL.set(I8, dst + at, (byte) Math.max(x & 0xff, y & 0xff));
        }
    }

    private static void minUnsigned(long dst, long a, long b, long count) {
        long bytes = count;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMIN, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            ByteVector x = ByteVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            ByteVector y = ByteVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.lanewise(UMIN, y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at++) {
            byte x = ALL.get(I8, a + at);
            byte y = ALL.get(I8, b + at);
            ALL.set(I8, dst + at, (byte) Math.min(x & 0xff, y & 0xff));
        }
    }
}
