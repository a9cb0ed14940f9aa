package org.jccl.reduce;

import static jdk.incubator.vector.VectorOperators.LSHL;
import static jdk.incubator.vector.VectorOperators.LSHR;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.MAX;
import static org.jccl.reduce.Fold.MIN;
import static org.jccl.reduce.Fold.PROD;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

import java.lang.foreign.ValueLayout;

/**
 * Folds bfloat16 with the Vector API: an int lane holds two elements, and each becomes a float32 by
 * shift or mask. Results are rounded to nearest even. A NaN needs no care: processors make one from
 * an operand's payload or from the default, whose lower halves are zero here, so that rounding
 * carries nothing into the upper half. Every loop body is written out: a method called from a
 * vector loop costs a factor of twenty when C2 stops inlining.
 */
final class VectorBfloat16 {
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final int STEP = INTS.vectorByteSize();

    /** For what is left after the last long vector, and for small counts. */
    private static final VectorSpecies<Integer> SHORT = IntVector.SPECIES_128;

    private static final int SHORT_STEP = SHORT.vectorByteSize();
    private static final int HIGH = 0xffff0000;
    private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;

    private VectorBfloat16() {}

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
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .add(y.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH).reinterpretAsFloats().add(y.and(HIGH).reinterpretAsFloats());
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        if (at != bytes) {
            sumTail(dst, a, b, at, bytes);
        }
    }

    /** What is left of a sum after the last long vector, or all of a small one. */
    private static void sumTail(long dst, long a, long b, long from, long bytes) {
        long at = from;
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .add(y.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH).reinterpretAsFloats().add(y.and(HIGH).reinterpretAsFloats());
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16(x + y));
        }
    }

    /** dst = a + b + c, in this order. */
    static void sum3(long dst, long a, long b, long c, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(INTS, ALL, c + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .add(y.lanewise(LSHL, 16).reinterpretAsFloats())
                            .add(z.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH)
                            .reinterpretAsFloats()
                            .add(y.and(HIGH).reinterpretAsFloats())
                            .add(z.and(HIGH).reinterpretAsFloats());
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            float z = Float.intBitsToFloat(ALL.get(I16, c + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16(x + y + z));
        }
    }

    /** dst = a + b + c + d, in this order. */
    static void sum4(long dst, long a, long b, long c, long d, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(INTS, ALL, c + at, LITTLE_ENDIAN);
            IntVector w = IntVector.fromMemorySegment(INTS, ALL, d + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .add(y.lanewise(LSHL, 16).reinterpretAsFloats())
                            .add(z.lanewise(LSHL, 16).reinterpretAsFloats())
                            .add(w.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH)
                            .reinterpretAsFloats()
                            .add(y.and(HIGH).reinterpretAsFloats())
                            .add(z.and(HIGH).reinterpretAsFloats())
                            .add(w.and(HIGH).reinterpretAsFloats());
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            float z = Float.intBitsToFloat(ALL.get(I16, c + at) << 16);
            float w = Float.intBitsToFloat(ALL.get(I16, d + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16(x + y + z + w));
        }
    }

    private static void prod(long dst, long a, long b, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .mul(y.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH).reinterpretAsFloats().mul(y.and(HIGH).reinterpretAsFloats());
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16(x * y));
        }
    }

    private static void average(long dst, long a, long b, long count, int n) {
        long bytes = count * 2;
        long at = 0;
        FloatVector divisor = FloatVector.broadcast(FLOATS, (float) n);
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .add(y.lanewise(LSHL, 16).reinterpretAsFloats())
                            .div(divisor);
            FloatVector high =
                    x.and(HIGH)
                            .reinterpretAsFloats()
                            .add(y.and(HIGH).reinterpretAsFloats())
                            .div(divisor);
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16((x + y) / n));
        }
    }

    private static void max(long dst, long a, long b, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .max(y.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH).reinterpretAsFloats().max(y.and(HIGH).reinterpretAsFloats());
            low.reinterpretAsInts()
                    .lanewise(LSHR, 16)
                    .or(high.reinterpretAsInts().and(HIGH))
                    .intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16(Math.max(x, y)));
        }
    }

    private static void min(long dst, long a, long b, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .min(y.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH).reinterpretAsFloats().min(y.and(HIGH).reinterpretAsFloats());
            low.reinterpretAsInts()
                    .lanewise(LSHR, 16)
                    .or(high.reinterpretAsInts().and(HIGH))
                    .intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16(Math.min(x, y)));
        }
    }
}
