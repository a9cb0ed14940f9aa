package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import java.lang.foreign.ValueLayout;

/**
 * One of the two 8-bit floats: how its codes become float32, and float32 its codes. Rounding is to
 * the nearest, of two as near to the even one, and saturates: what is too large, infinity included,
 * becomes the largest finite number of its sign. A NaN stays one, with its sign.
 *
 * <p>A code is made in three steps without a branch, so that C2 can vectorise each of them: add to
 * the {@link #magnitude} its {@link #anchor}, a power of two whose last bit weighs as much as the
 * last bit of the code. The processor then rounds the sum as the code has to be rounded, subnormal
 * or not, and {@link #code} takes it from the sum's bits.
 *
 * <p>In tiles an int is read as four elements, the lowest ones first: C2 vectorises no narrowing of
 * ints, but shifts.
 */
final class Float8 extends NarrowFloat {
    /** Without infinities: beyond 448 there is only one NaN of each sign. */
    static final Float8 E4M3 = new Float8(3, 7, 0x7e, 0x7f);

    /** The upper byte of a float16, with its infinities and NaNs; the largest number is 57344. */
    static final Float8 E5M2 = new Float8(2, 15, 0x7b, 0x7d);

    private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;
    private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;

    /** What a NaN becomes, but for its sign. */
    private static final int NAN = 0x7f;

    private static final int SIGN = 0x80;

    private static final int F32_FRACTION_BITS = 23;
    private static final int F32_BIAS = 127;
    private static final int F32_MAGNITUDE = 0x7fffffff;
    private static final int F32_INFINITY = 0x7f800000;

    /** The value of each code. Not written after the constructor. */
    private final float[] values = new float[256];

    private final int fractionBits;

    /** Exponent of the smallest normal number, as float32 stores it. */
    private final int minExponent;

    private final int largestCode;

    /** The largest finite number as bits of float32. */
    private final int largestBits;

    private Float8(int fractionBits, int bias, int largestCode, int firstNan) {
        this.fractionBits = fractionBits;
        this.minExponent = F32_BIAS + 1 - bias;
        this.largestCode = largestCode;
        for (int code = 0; code < values.length; code++) {
            int magnitude = code & ~SIGN;
            float value = magnitude > largestCode ? Float.POSITIVE_INFINITY : finite(magnitude);
            value = magnitude >= firstNan ? Float.NaN : value;
            values[code] = Math.copySign(value, magnitude == code ? 1 : -1);
        }
        this.largestBits = Float.floatToRawIntBits(values[largestCode]);
    }

    private float finite(int magnitude) {
        int exponent = magnitude >> fractionBits;
        int fraction = magnitude - (exponent << fractionBits);
        int significand = exponent == 0 ? fraction : fraction + (1 << fractionBits);
        int quantum = Math.max(exponent, 1) - 1 + minExponent - F32_BIAS - fractionBits;
        return Math.scalb((float) significand, quantum);
    }

    @Override
    int inInt() {
        return 4;
    }

    @Override
    float widen(int code) {
        return values[code & 0xff];
    }

    @Override
    int round(float value) {
        int bits = Float.floatToRawIntBits(value);
        int magnitude = magnitude(bits);
        int anchor = anchor(magnitude);
        float sum = Float.intBitsToFloat(magnitude) + Float.intBitsToFloat(anchor);
        return code(bits, anchor, Float.floatToRawIntBits(sum));
    }

    @Override
    void widen(Tiles tiles, float[] to, long from, int m) {
        for (int place = 0; place < 4; place++) {
            widen(to, place * (m / 4), from + place, m / 4);
        }
    }

    private void widen(float[] to, int begin, long from, int ints) {
        for (int i = 0; i < ints; i++) {
            to[begin + i] = widen(ALL.get(I8, from + 4L * i));
        }
    }

    @Override
    void round(Tiles tiles, long to, int m) {
        float[] sum = (float[]) tiles.sum;
        float[] anchors = (float[]) tiles.next;
        tiles.bits.ofFloats(sum, m);
        anchor(tiles, m);
        tiles.sums.toFloats(sum, m);
        tiles.anchors.toFloats(anchors, m);
        add(sum, anchors, m);
        tiles.sums.ofFloats(sum, m);
        code(tiles, m);
        join(to, tiles.sums.array, m / 4);
    }

    /** Leaves magnitudes where sums will be. */
    private void anchor(Tiles tiles, int m) {
        int[] bits = tiles.bits.array;
        int[] sums = tiles.sums.array;
        int[] anchors = tiles.anchors.array;
        for (int i = 0; i < m; i++) {
            int magnitude = magnitude(bits[i]);
            sums[i] = magnitude;
            anchors[i] = anchor(magnitude);
        }
    }

    private static void add(float[] sums, float[] anchors, int m) {
        for (int i = 0; i < m; i++) {
            sums[i] += anchors[i];
        }
    }

    private void code(Tiles tiles, int m) {
        int[] bits = tiles.bits.array;
        int[] sums = tiles.sums.array;
        int[] anchors = tiles.anchors.array;
        for (int i = 0; i < m; i++) {
            sums[i] = code(bits[i], anchors[i], sums[i]);
        }
    }

    private static void join(long to, int[] codes, int ints) {
        for (int i = 0; i < ints; i++) {
            int lower = codes[i] | codes[ints + i] << 8;
            int upper = codes[2 * ints + i] | codes[3 * ints + i] << 8;
            ALL.set(I32, to + 4L * i, lower | upper << 16);
        }
    }

    /** Bits of the absolute value, or of the largest finite number where that is smaller. */
    private int magnitude(int bits) {
        return Math.min(bits & F32_MAGNITUDE, largestBits);
    }

    /** Bits of what has to be added to the magnitude. */
    private int anchor(int magnitude) {
        int binade = Math.max(magnitude & F32_INFINITY, minExponent << F32_FRACTION_BITS);
        return binade + ((F32_FRACTION_BITS - fractionBits) << F32_FRACTION_BITS);
    }

    /**
     * The code of the float32 with these bits, in the lowest byte alone.
     *
     * @param sum bits of the sum of its magnitude and that one's anchor
     */
    private int code(int bits, int anchor, int sum) {
        int binade = (anchor >>> F32_FRACTION_BITS) - (F32_FRACTION_BITS - fractionBits);
        int rounded = ((binade - minExponent) << fractionBits) + (sum - anchor);
        // One where the bits are a NaN's, whose magnitude was the largest number's.
        int nan = (F32_INFINITY - (bits & F32_MAGNITUDE)) >>> 31;
        return rounded + nan * (NAN - largestCode) | (bits >>> 24) & SIGN;
    }
}
