package org.jccl.oracle;

/**
 * A small binary floating-point format from its definition (IEEE 754, section 3.4), by arithmetic
 * on doubles, which hold all its values and the sums of two exactly enough: values are rounded to a
 * multiple of the quantum of their binade.
 *
 * @param fractionBits bits of the fraction as stored
 * @param maxExponent largest exponent of a finite number; 1 − maxExponent is the smallest normal
 */
record FloatFormat(int fractionBits, int maxExponent) {
    static final FloatFormat FLOAT16 = new FloatFormat(10, 15);
    static final FloatFormat BFLOAT16 = new FloatFormat(7, 127);

    /** The value with these bits. */
    double decode(int bits) {
        int field = (bits & 0x7fff) >> fractionBits;
        int fraction = bits & ((1 << fractionBits) - 1);
        double sign = (bits & 0x8000) == 0 ? 1 : -1;
        if (field == 2 * maxExponent + 1) {
            return fraction == 0 ? sign * Double.POSITIVE_INFINITY : Double.NaN;
        }
        double significand = fraction + (field == 0 ? 0 : 1 << fractionBits);
        int exponent = Math.max(field, 1) - maxExponent;
        return sign * significand * Math.scalb(1.0, exponent - fractionBits);
    }

    /** The bits of the nearest value; of two nearest the one with an even fraction. */
    int encode(double value) {
        int sign = Math.copySign(1.0, value) < 0 ? 0x8000 : 0;
        int infinity = (2 * maxExponent + 1) << fractionBits;
        if (Double.isNaN(value)) {
            return sign | infinity | 1;
        }
        if (Double.isInfinite(value)) {
            return sign | infinity;
        }
        int minExponent = 1 - maxExponent;
        int exponent = Math.max(Math.getExponent(value), minExponent);
        double quantum = Math.scalb(1.0, exponent - fractionBits);
        // rint is half-even, and dividing by a power of two is exact here.
        double multiple = Math.rint(Math.abs(value) / quantum);
        if (multiple == 2 << fractionBits) {
            multiple /= 2;
            exponent++;
        }
        if (exponent > maxExponent) {
            return sign | infinity;
        }
        int integer = (int) multiple;
        boolean subnormal = integer < 1 << fractionBits;
        int field = subnormal ? 0 : exponent + maxExponent;
        return sign | (field << fractionBits) | (integer & ((1 << fractionBits) - 1));
    }
}
