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
    private static final VectorSpecies<Integer> LONG = IntVector.SPECIES_PREFERRED;
    private static final int LONG_STEP = LONG.vectorByteSize();

    /** For what is left after the last long vector, and for small counts. */
    private static final VectorSpecies<Integer> SHORT = IntVector.SPECIES_128;

    private static final int SHORT_STEP = SHORT.vectorByteSize();
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
        FloatVector longN = FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, (float) n);
        for (; at <= bytes - LONG_STEP; at += LONG_STEP) {
            IntVector x = IntVector.fromMemorySegment(LONG, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(LONG, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.and(HIGH).reinterpretAsFloats());
            low = AVERAGES ? low.div(longN) : low;
            high = AVERAGES ? high.div(longN) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        FloatVector shortN = FloatVector.broadcast(FloatVector.SPECIES_128, (float) n);
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    x.lanewise(LSHL, 16)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.lanewise(LSHL, 16).reinterpretAsFloats());
            FloatVector high =
                    x.and(HIGH)
                            .reinterpretAsFloats()
                            .lanewise(OPERATOR, y.and(HIGH).reinterpretAsFloats());
            low = AVERAGES ? low.div(shortN) : low;
            high = AVERAGES ? high.div(shortN) : high;
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
        FloatVector longN = FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, (float) n);
        for (; at <= bytes - LONG_STEP; at += LONG_STEP) {
            IntVector x = IntVector.fromMemorySegment(LONG, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(LONG, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(LONG, ALL, c + at, LITTLE_ENDIAN);
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
            low = AVERAGES ? low.div(longN) : low;
            high = AVERAGES ? high.div(longN) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        FloatVector shortN = FloatVector.broadcast(FloatVector.SPECIES_128, (float) n);
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(SHORT, ALL, c + at, LITTLE_ENDIAN);
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
            low = AVERAGES ? low.div(shortN) : low;
            high = AVERAGES ? high.div(shortN) : high;
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
        FloatVector longN = FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, (float) n);
        for (; at <= bytes - LONG_STEP; at += LONG_STEP) {
            IntVector x = IntVector.fromMemorySegment(LONG, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(LONG, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(LONG, ALL, c + at, LITTLE_ENDIAN);
            IntVector w = IntVector.fromMemorySegment(LONG, ALL, d + at, LITTLE_ENDIAN);
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
            low = AVERAGES ? low.div(longN) : low;
            high = AVERAGES ? high.div(longN) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        FloatVector shortN = FloatVector.broadcast(FloatVector.SPECIES_128, (float) n);
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, a + at, LITTLE_ENDIAN);
            IntVector y = IntVector.fromMemorySegment(SHORT, ALL, b + at, LITTLE_ENDIAN);
            IntVector z = IntVector.fromMemorySegment(SHORT, ALL, c + at, LITTLE_ENDIAN);
            IntVector w = IntVector.fromMemorySegment(SHORT, ALL, d + at, LITTLE_ENDIAN);
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
            low = AVERAGES ? low.div(shortN) : low;
            high = AVERAGES ? high.div(shortN) : high;
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
        FloatVector longN = FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, (float) n);
        for (; at <= bytes - LONG_STEP; at += LONG_STEP) {
            IntVector x = IntVector.fromMemorySegment(LONG, ALL, sources[0] + at, LITTLE_ENDIAN);
            FloatVector low = x.lanewise(LSHL, 16).reinterpretAsFloats();
            FloatVector high = x.and(HIGH).reinterpretAsFloats();
            for (int k = 1; k < n; k++) {
                IntVector y =
                        IntVector.fromMemorySegment(LONG, ALL, sources[k] + at, LITTLE_ENDIAN);
                low = low.lanewise(OPERATOR, y.lanewise(LSHL, 16).reinterpretAsFloats());
                high = high.lanewise(OPERATOR, y.and(HIGH).reinterpretAsFloats());
            }
            low = AVERAGES ? low.div(longN) : low;
            high = AVERAGES ? high.div(longN) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        FloatVector shortN = FloatVector.broadcast(FloatVector.SPECIES_128, (float) n);
        for (; at <= bytes - SHORT_STEP; at += SHORT_STEP) {
            IntVector x = IntVector.fromMemorySegment(SHORT, ALL, sources[0] + at, LITTLE_ENDIAN);
            FloatVector low = x.lanewise(LSHL, 16).reinterpretAsFloats();
            FloatVector high = x.and(HIGH).reinterpretAsFloats();
            for (int k = 1; k < n; k++) {
                IntVector y =
                        IntVector.fromMemorySegment(SHORT, ALL, sources[k] + at, LITTLE_ENDIAN);
                low = low.lanewise(OPERATOR, y.lanewise(LSHL, 16).reinterpretAsFloats());
                high = high.lanewise(OPERATOR, y.and(HIGH).reinterpretAsFloats());
            }
            low = AVERAGES ? low.div(shortN) : low;
            high = AVERAGES ? high.div(shortN) : high;
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        return at;
    }
}
