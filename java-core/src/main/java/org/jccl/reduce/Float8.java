package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

/**
 * One of the two 8-bit floats. Rounding saturates: what is too large, infinity included, becomes
 * the largest finite number of its sign. A NaN stays one, with its sign.
 *
 * <p>Both directions are tables. A code depends on the upper bits of a float32, down to two below
 * the code's last one, and on whether any of the others is set.
 */
final class Float8 implements NarrowFloat {
    /** Without infinities: beyond 448 there is only one NaN of each sign. */
    static final Float8 E4M3 = new Float8(3, 7, 0x7e, 0x7f);

    /** The upper byte of a float16, with its infinities and NaNs; the largest number is 57344. */
    static final Float8 E5M2 = new Float8(2, 15, 0x7b, 0x7d);

    private static final int SIGN = 0x80;

    /** What a NaN becomes, but for its sign. */
    private static final byte NAN = 0x7f;

    /**
     * Lower bits of a float32 of which it matters only whether any is set. Above them are five bits
     * of its fraction: those of a code, and at least two more.
     */
    private static final int LOW_BITS = 18;

    private static final int LOW = (1 << LOW_BITS) - 1;

    /** The value of each code. */
    private final float[] values = new float[256];

    /**
     * By the upper bits of a float32 without its sign; the lowest is also set for any bit below it.
     */
    private final byte[] codes = new byte[1 << 31 - LOW_BITS];

    private Float8(int fractionBits, int bias, int largest, int firstNan) {
        for (int code = 0; code < SIGN; code++) {
            int exponent = Math.max(code >> fractionBits, 1);
            int significand = code - (exponent - 1 << fractionBits);
            float value = Math.scalb((float) significand, exponent - bias - fractionBits);
            value = code <= largest ? value : Float.POSITIVE_INFINITY;
            values[code] = code < firstNan ? value : Float.NaN;
            values[code | SIGN] = -values[code];
        }
        int code = 0;
        for (int upper = 0; upper < codes.length; upper++) {
            float value = Float.intBitsToFloat(upper << LOW_BITS);
            while (code < largest && isNearer(code + 1, value)) {
                code++;
            }
            codes[upper] = Float.isNaN(value) ? NAN : (byte) code;
        }
    }

    /** Whether a value is nearer to this code than to the code below. */
    private boolean isNearer(int code, float value) {
        float middle = (values[code - 1] + values[code]) / 2;
        return value > middle || value == middle && code % 2 == 0;
    }

    @Override
    public float widen(int bits) {
        return values[bits & 0xff];
    }

    @Override
    public int round(float value) {
        int bits = Float.floatToRawIntBits(value);
        int magnitude = bits & Integer.MAX_VALUE;
        int anyLower = (magnitude & LOW) + LOW >>> LOW_BITS;
        return codes[magnitude >>> LOW_BITS | anyLower] | bits >>> 24 & SIGN;
    }

    @Override
    public void widen(Tiles tiles, float[] to, long from, int m) {
        for (int i = 0; i < m; i++) {
            to[i] = widen(ALL.get(JAVA_BYTE, from + i));
        }
    }

    @Override
    public void round(Tiles tiles, long to, int m) {
        float[] sum = (float[]) tiles.sum;
        for (int i = 0; i < m; i++) {
            ALL.set(JAVA_BYTE, to + i, (byte) round(sum[i]));
        }
    }
}
