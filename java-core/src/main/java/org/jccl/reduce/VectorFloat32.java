package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

import java.lang.foreign.ValueLayout;

/** Folds float32 with the Vector API. */
final class VectorFloat32 {
    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
    private static final int STEP = SPECIES.vectorByteSize();

    /** For what is left after the last long vector, and for small counts. */
    private static final VectorSpecies<Float> SHORT = FloatVector.SPECIES_128;

    private static final int SHORT_STEP = SHORT.vectorByteSize();
    private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

    private VectorFloat32() {}

    /** dst = a op b; for AVG the sum divided by n. */
    static void pair(int op, long dst, long a, long b, long count, int n) {
        switch (op) {
            case PROD -> prod(dst, a, b, count);
            case MAX -> max(dst, a, b, count);
            case MIN -> min(dst, a, b, count);
            case AVG -> average(dst, a, b, count, n);
            default -> sum(dst, a, b, count);
        }
    }

    private static void sum(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            float x = ALL.get(F32, a + at);
            float y = ALL.get(F32, b + at);
            ALL.set(F32, dst + at, x + y);
        }
    }

    /** dst = a + b + c, in this order. */
    static void sum3(long dst, long a, long b, long c, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            FloatVector z = FloatVector.fromMemorySegment(SPECIES, ALL, c + at, LITTLE_ENDIAN);
            x.add(y).add(z).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            float x = ALL.get(F32, a + at);
            float y = ALL.get(F32, b + at);
            float z = ALL.get(F32, c + at);
            ALL.set(F32, dst + at, x + y + z);
        }
    }

    /** dst = a + b + c + d, in this order. */
    static void sum4(long dst, long a, long b, long c, long d, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            FloatVector z = FloatVector.fromMemorySegment(SPECIES, ALL, c + at, LITTLE_ENDIAN);
            FloatVector w = FloatVector.fromMemorySegment(SPECIES, ALL, d + at, LITTLE_ENDIAN);
            x.add(y).add(z).add(w).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            float x = ALL.get(F32, a + at);
            float y = ALL.get(F32, b + at);
            float z = ALL.get(F32, c + at);
            float w = ALL.get(F32, d + at);
            ALL.set(F32, dst + at, x + y + z + w);
        }
    }

    private static void prod(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.mul(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.mul(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            float x = ALL.get(F32, a + at);
            float y = ALL.get(F32, b + at);
            ALL.set(F32, dst + at, x * y);
        }
    }

    private static void max(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.max(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.max(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            float x = ALL.get(F32, a + at);
            float y = ALL.get(F32, b + at);
            ALL.set(F32, dst + at, Math.max(x, y));
        }
    }

    private static void min(long dst, long a, long b, long count) {
        long bytes = count * 4;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.min(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            x.min(y).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            float x = ALL.get(F32, a + at);
            float y = ALL.get(F32, b + at);
            ALL.set(F32, dst + at, Math.min(x, y));
        }
    }

    private static void average(long dst, long a, long b, long count, int n) {
        long bytes = count * 4;
        long at = 0;
        FloatVector divisor = FloatVector.broadcast(SPECIES, (float) n);
        for (; at <= bytes - STEP; at += STEP) {
            FloatVector x = FloatVector.fromMemorySegment(SPECIES, ALL, a + at, LITTLE_ENDIAN);
            FloatVector y = FloatVector.fromMemorySegment(SPECIES, ALL, b + at, LITTLE_ENDIAN);
            x.add(y).div(divisor).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 4) {
            float x = ALL.get(F32, a + at);
            float y = ALL.get(F32, b + at);
            ALL.set(F32, dst + at, (x + y) / n);
        }
    }
}
