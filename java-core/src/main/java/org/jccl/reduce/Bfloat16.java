package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The upper half of a float32. Rounding leaves alone what is a bfloat16 already, and a NaN needs no
 * care: processors make one from an operand's payload or from the default, whose lower halves are
 * zero here, so that nothing is carried into the upper half.
 *
 * <p>In tiles an int is read as two elements, and all lower ones come first: C2 vectorises shifts
 * and masks, but not the widening of shorts.
 */
final class Bfloat16 implements NarrowFloat {
    private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT;
    private static final int HIGH = 0xffff0000;

    @Override
    public float widen(int bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    @Override
    public int round(float value) {
        return rounded(Float.floatToRawIntBits(value)) >>> 16;
    }

    @Override
    public void widen(Tiles tiles, float[] to, long from, int m) {
        split(tiles.bits, 0, from, 16, m / 2);
        split(tiles.bits, m / 2, from, 0, m / 2);
        MemorySegment.copy(tiles.bitsSegment, F32, 0, to, 0, m);
    }

    private static void split(int[] bits, int begin, long from, int shift, int ints) {
        for (int i = 0; i < ints; i++) {
            bits[begin + i] = ALL.get(JAVA_INT_UNALIGNED, from + 4L * i) << shift & HIGH;
        }
    }

    @Override
    public void round(Tiles tiles, long to, int m) {
        MemorySegment.copy(tiles.sum, 0, tiles.bitsSegment, F32, 0, m);
        join(to, tiles.bits, m / 2);
    }

    private static void join(long to, int[] bits, int ints) {
        for (int i = 0; i < ints; i++) {
            int lower = rounded(bits[i]) >>> 16;
            ALL.set(JAVA_INT_UNALIGNED, to + 4L * i, lower | rounded(bits[ints + i]) & HIGH);
        }
    }

    /** The result is in the upper half. */
    private static int rounded(int bits) {
        return bits + 0x7fff + (bits >>> 16 & 1);
    }
}
