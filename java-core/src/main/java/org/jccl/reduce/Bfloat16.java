package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import java.lang.foreign.ValueLayout;

/**
 * The upper half of a float32. Rounding leaves alone what is a bfloat16 already, and a NaN needs no
 * care: processors make one from an operand's payload or from the default, whose lower halves are
 * zero here, so that nothing is carried into the upper half.
 *
 * <p>In tiles an int is read as two elements, the lower ones first: C2 vectorises shifts and masks,
 * but not the widening of shorts.
 */
final class Bfloat16 extends NarrowFloat {
    private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
    private static final int HIGH = 0xffff0000;

    @Override
    int inInt() {
        return 2;
    }

    @Override
    float widen(int bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    @Override
    int round(float value) {
        return rounded(Float.floatToRawIntBits(value)) >>> 16;
    }

    @Override
    void widen(Tiles tiles, float[] to, long from, int m) {
        widen(tiles.bits.array, 0, from, 16, m / 2);
        widen(tiles.bits.array, m / 2, from, 0, m / 2);
        tiles.bits.toFloats(to, m);
    }

    private static void widen(int[] bits, int begin, long from, int shift, int ints) {
        for (int i = 0; i < ints; i++) {
            bits[begin + i] = ALL.get(I32, from + 4L * i) << shift & HIGH;
        }
    }

    @Override
    void round(Tiles tiles, long to, int m) {
        tiles.bits.ofFloats((float[]) tiles.sum, m);
        round(to, tiles.bits.array, m / 2);
    }

    private static void round(long to, int[] bits, int ints) {
        for (int i = 0; i < ints; i++) {
            int low = rounded(bits[i]) >>> 16;
            ALL.set(I32, to + 4L * i, low | rounded(bits[ints + i]) & HIGH);
        }
    }

    /** Has the result in its upper half. */
    private static int rounded(int bits) {
        return bits + 0x7fff + (bits >>> 16 & 1);
    }
}
