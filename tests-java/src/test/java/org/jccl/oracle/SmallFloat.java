package org.jccl.oracle;

import java.util.Arrays;

/**
 * An 8-bit float from its definition (OCP 8-bit floating point specification): the list of its
 * numbers. A value's code is found among them by comparison alone, and saturates.
 */
public final class SmallFloat {
    /** Four bits of exponent; one code beyond the largest number, a NaN. */
    public static final SmallFloat E4M3 = new SmallFloat(3, 7, 0x7e);

    /** Five bits of exponent, the largest of which holds infinity and NaNs. */
    public static final SmallFloat E5M2 = new SmallFloat(2, 15, 0x7b);

    /** The finite numbers from zero up, by code. */
    private final double[] numbers;

    /** The middle between each number and the next; doubles hold it exactly. */
    private final double[] middles;

    private SmallFloat(int fractionBits, int bias, int largest) {
        numbers = new double[largest + 1];
        middles = new double[largest];
        for (int code = 0; code <= largest; code++) {
            int exponent = code >> fractionBits;
            double fraction = (code % (1 << fractionBits)) / (double) (1 << fractionBits);
            numbers[code] =
                    exponent == 0
                            ? fraction * Math.pow(2, 1 - bias)
                            : (1 + fraction) * Math.pow(2, exponent - bias);
            if (code > 0) {
                middles[code - 1] = (numbers[code - 1] + numbers[code]) / 2;
            }
        }
    }

    /** The value with these bits. */
    public double decode(int bits) {
        int code = bits & 0x7f;
        double sign = (bits & 0x80) == 0 ? 1 : -1;
        if (code < numbers.length) {
            return sign * numbers[code];
        }
        return this == E5M2 && code == numbers.length ? sign / 0 : sign * Double.NaN;
    }

    /** The bits of the nearest number, of two as near the even one; of a NaN those of a NaN. */
    public int encode(double value) {
        int sign = Math.copySign(1.0, value) < 0 ? 0x80 : 0;
        if (Double.isNaN(value)) {
            return sign | 0x7f;
        }
        int at = Arrays.binarySearch(middles, Math.abs(value));
        int code = at < 0 ? -at - 1 : at + at % 2;
        return sign | code;
    }
}
