package org.jccl.reduce;

import static jdk.incubator.vector.VectorOperators.LSHL;
import static jdk.incubator.vector.VectorOperators.LSHR;

import static org.jccl.platform.Memory.ALL;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

import java.lang.foreign.ValueLayout;

/**
 * Folds more sources of bfloat16 than {@link VectorBfloat16} takes at once: a tile holds float32
 * intermediate results, for each vector of pairs first the lower elements, then the upper ones;
 * elements beyond the last whole vector in order.
 */
final class VectorBfloat16Tile {
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final int STEP = INTS.vectorByteSize();
    private static final int HIGH = 0xffff0000;
    private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

    private VectorBfloat16Tile() {}

    /** tile = a + b, not rounded to bfloat16. */
    static void sum(long tile, long a, long b, long count) {
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
            low.intoMemorySegment(ALL, tile + 2 * at, LITTLE_ENDIAN);
            high.intoMemorySegment(ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(F32, tile + 2 * at, x + y);
        }
    }

    /** tile = a b, not rounded to bfloat16. */
    static void prod(long tile, long a, long b, long count) {
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
            low.intoMemorySegment(ALL, tile + 2 * at, LITTLE_ENDIAN);
            high.intoMemorySegment(ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = Float.intBitsToFloat(ALL.get(I16, a + at) << 16);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(F32, tile + 2 * at, x * y);
        }
    }

    /** tile += b. */
    static void addTo(long tile, long b, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at, LITTLE_ENDIAN);
            FloatVector high =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
            low = low.add(y.lanewise(LSHL, 16).reinterpretAsFloats());
            high = high.add(y.and(HIGH).reinterpretAsFloats());
            low.intoMemorySegment(ALL, tile + 2 * at, LITTLE_ENDIAN);
            high.intoMemorySegment(ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = ALL.get(F32, tile + 2 * at);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(F32, tile + 2 * at, x + y);
        }
    }

    /** tile *= b. */
    static void multiplyTo(long tile, long b, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at, LITTLE_ENDIAN);
            FloatVector high =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
            low = low.mul(y.lanewise(LSHL, 16).reinterpretAsFloats());
            high = high.mul(y.and(HIGH).reinterpretAsFloats());
            low.intoMemorySegment(ALL, tile + 2 * at, LITTLE_ENDIAN);
            high.intoMemorySegment(ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = ALL.get(F32, tile + 2 * at);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(F32, tile + 2 * at, x * y);
        }
    }

    /** dst = tile + b, rounded. */
    static void addAndRound(long dst, long tile, long b, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at, LITTLE_ENDIAN);
            FloatVector high =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
            low = low.add(y.lanewise(LSHL, 16).reinterpretAsFloats());
            high = high.add(y.and(HIGH).reinterpretAsFloats());
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = ALL.get(F32, tile + 2 * at);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16(x + y));
        }
    }

    /** dst = tile b, rounded. */
    static void multiplyAndRound(long dst, long tile, long b, long count) {
        long bytes = count * 2;
        long at = 0;
        for (; at <= bytes - STEP; at += STEP) {
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at, LITTLE_ENDIAN);
            FloatVector high =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
            low = low.mul(y.lanewise(LSHL, 16).reinterpretAsFloats());
            high = high.mul(y.and(HIGH).reinterpretAsFloats());
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = ALL.get(F32, tile + 2 * at);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16(x * y));
        }
    }

    /** dst = (tile + b) / n, rounded once. */
    static void addDivideAndRound(long dst, long tile, long b, long count, int n) {
        long bytes = count * 2;
        long at = 0;
        FloatVector divisor = FloatVector.broadcast(FLOATS, (float) n);
        for (; at <= bytes - STEP; at += STEP) {
            IntVector y = IntVector.fromMemorySegment(INTS, ALL, b + at, LITTLE_ENDIAN);
            FloatVector low =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at, LITTLE_ENDIAN);
            FloatVector high =
                    FloatVector.fromMemorySegment(FLOATS, ALL, tile + 2 * at + STEP, LITTLE_ENDIAN);
            low = low.add(y.lanewise(LSHL, 16).reinterpretAsFloats()).div(divisor);
            high = high.add(y.and(HIGH).reinterpretAsFloats()).div(divisor);
            IntVector lowBits = low.reinterpretAsInts();
            IntVector highBits = high.reinterpretAsInts();
            lowBits = lowBits.add(0x7fff).add(lowBits.lanewise(LSHR, 16).and(1)).lanewise(LSHR, 16);
            highBits = highBits.add(0x7fff).add(highBits.lanewise(LSHR, 16).and(1)).and(HIGH);
            lowBits.or(highBits).intoMemorySegment(ALL, dst + at, LITTLE_ENDIAN);
        }
        for (; at != bytes; at += 2) {
            float x = ALL.get(F32, tile + 2 * at);
            float y = Float.intBitsToFloat(ALL.get(I16, b + at) << 16);
            ALL.set(I16, dst + at, ScalarFold.toBfloat16((x + y) / n));
        }
    }
}
