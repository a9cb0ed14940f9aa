package org.jccl.reduce;

import static jdk.incubator.vector.VectorOperators.LSHL;
import static jdk.incubator.vector.VectorOperators.LSHR;

import static org.jccl.platform.Memory.ALL;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import java.lang.invoke.MethodHandles;

/**
 * The template of kernels for bfloat16: an int lane holds two elements, and each becomes a float32
 * by shift or mask. Results are rounded to nearest even, which leaves alone what is a bfloat16
 * already. A NaN needs no care: processors make one from an operand's payload or from the default,
 * whose lower halves are zero here, so that rounding carries nothing into the upper half. Used only
 * through copies, and written out, as {@link WideTemplate} is.
 */
final class NarrowTemplate implements Fold {
    private static final VectorKernel KERNEL = VectorKernel.of(MethodHandles.lookup());
    private static final VectorOperators.Associative OPERATOR = KERNEL.operator();
    private static final boolean AVERAGES = KERNEL.averages();
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final int STEP = INTS.vectorByteSize();
    private static final int HIGH = 0xffff0000;

    @Override
    public void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        long bytes = count * 2;
        long at =
                switch (KERNEL.sources()) {
                    case 2 -> two(dst, sources[0], sources[1], n, bytes);
                    case 3 -> three(dst, sources[0], sources[1], sources[2], n, bytes);
                    case 4 -> four(dst, sources[0], sources[1], sources[2], sources[3], n, bytes);
                    default -> many(dst, sources, n, bytes);
                };
        if (at != bytes) {
            ScalarFold.rest(KERNEL.dataType(), KERNEL.redOp(), dst, sources, n, at / 2, count);
        }
    }

    private static long two(long dst, long a, long b, int n, long bytes) {
        long at = 0;
        FloatVector divisor = FloatVector.broadcast(FLOATS, (float) n);
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.and(HIGH).reinterpretAsFloats());
            low = AVERAGES ? low.div(divisor) : low;
            high = AVERAGES ? high.div(divisor) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }

    private static long three(long dst, long a, long b, long c, int n, long bytes) {
        long at = 0;
        FloatVector divisor = FloatVector.broadcast(FLOATS, (float) n);
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(INTS, ALL, c + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.lanewise(LSHL, 16).reinterpretAsFloats())
                            .lanewise(OPERATOR, z.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.and(HIGH).reinterpretAsFloats())
                            .lanewise(OPERATOR, z.and(HIGH).reinterpretAsFloats());
            low = AVERAGES ? low.div(divisor) : low;
            high = AVERAGES ? high.div(divisor) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }

    private static long four(long dst, long a, long b, long c, long d, int n, long bytes) {
        long at = 0;
        FloatVector divisor = FloatVector.broadcast(FLOATS, (float) n);
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(INTS, ALL, c + at, LITTLE_ENDIAN);
            IntVector w = IntVector.fromMemorySegment(INTS, ALL, d + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.lanewise(LSHL, 16).reinterpretAsFloats())
                            .lanewise(OPERATOR, z.lanewise(LSHL, 16).reinterpretAsFloats())
                            .lanewise(OPERATOR, w.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.and(HIGH).reinterpretAsFloats())
                            .lanewise(OPERATOR, z.and(HIGH).reinterpretAsFloats())
                            .lanewise(OPERATOR, w.and(HIGH).reinterpretAsFloats());
            low = AVERAGES ? low.div(divisor) : low;
            high = AVERAGES ? high.div(divisor) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }

    private static long many(long dst, long[] sources, int n, long bytes) {
        long at = 0;
        FloatVector divisor = FloatVector.broadcast(FLOATS, (float) n);
        for (; at <= bytes - STEP; at += STEP) {
            IntVector x = IntVector.fromMemorySegment(INTS, ALL, sources[0] + at, LITTLE_ENDIAN);
            FloatVector low = x.lanewise(LSHL, 16).reinterpretAsFloats();
            FloatVector high = x.and(HIGH).reinterpretAsFloats();
            for (int k = 1; k < n; k++) {
                IntVector y =
                        IntVector.fromMemorySegment(INTS, ALL, sources[k] + at, LITTLE_ENDIAN);
                low = low.lanewise(OPERATOR, y.lanewise(LSHL, 16).reinterpretAsFloats());
                high = high.lanewise(OPERATOR, y.and(HIGH).reinterpretAsFloats());
            }
            low = AVERAGES ? low.div(divisor) : low;
            high = AVERAGES ? high.div(divisor) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }
}
