package org.jccl.reduce;

/**
 * One of the two 8-bit floats: how its codes become float32, and float32 its codes. Rounding is to
 * the nearest, of two as near to the even one, and saturates: what is too large, infinity included,
 * becomes the largest finite number of its sign. A NaN stays one, with its sign.
 *
 * <p>A code is made in three steps without a branch, so that C2 can vectorise each of them: add to
 * the {@link #magnitude} its {@link #anchor}, a power of two whose last bit weighs as much as the
 * last bit of the code. The processor then rounds the sum as the code has to be rounded, subnormal
 * or not, and {@link #code} takes it from the sum's bits.
 */
final class Float8 {
    /** Without infinities: beyond 448 there is only one NaN of each sign. */
    static final Float8 E4M3 = new Float8(3, 7, 0x7e, 0x7f);

    /** The upper byte of a float16, with its infinities and NaNs; the largest number is 57344. */
    static final Float8 E5M2 = new Float8(2, 15, 0x7b, 0x7d);

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

    /** The value of a code, exactly. */
    float decode(byte code) {
        return values[code & 0xff];
    }

    /** The values of the first {@code m} codes. */
    void decode(float[] to, byte[] codes, int m) {
        float[] table = values;
        for (int i = 0; i < m; i++) {
            to[i] = table[codes[i] & 0xff];
        }
    }

    /** The code of the value. */
    byte encode(float value) {
        int bits = Float.floatToRawIntBits(value);
        int magnitude = magnitude(bits);
        int anchor = anchor(magnitude);
        float sum = Float.intBitsToFloat(magnitude) + Float.intBitsToFloat(anchor);
        return (byte) code(bits, anchor, Float.floatToRawIntBits(sum));
    }

    /** Bits of the absolute value, or of the largest finite number where that is smaller. */
    int magnitude(int bits) {
        return Math.min(bits & F32_MAGNITUDE, largestBits);
    }

    /** Bits of what has to be added to the magnitude. */
    int anchor(int magnitude) {
        int binade = Math.max(magnitude & F32_INFINITY, minExponent << F32_FRACTION_BITS);
        return binade + ((F32_FRACTION_BITS - fractionBits) << F32_FRACTION_BITS);
    }

    /**
     * The code of the float32 with these bits, in the lowest byte alone.
     *
     * @param sum bits of the sum of its magnitude and that one's anchor
     */
    int code(int bits, int anchor, int sum) {
        int binade = (anchor >>> F32_FRACTION_BITS) - (F32_FRACTION_BITS - fractionBits);
        int rounded = ((binade - minExponent) << fractionBits) + (sum - anchor);
        // One where the bits are a NaN's, whose magnitude was the largest number's.
        int nan = (F32_INFINITY - (bits & F32_MAGNITUDE)) >>> 31;
        return rounded + nan * (NAN - largestCode) | (bits >>> 24) & SIGN;
    }
}
