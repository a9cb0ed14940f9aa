package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

/** IEEE 754's half precision, whose conversions C2 vectorises. */
final class Float16 implements NarrowFloat {

    @Override
    public float widen(int bits) {
        return Float.float16ToFloat((short) bits);
    }

    @Override
    public int round(float value) {
        return Float.floatToFloat16(value);
    }

    @Override
    public void widen(Tiles tiles, float[] to, long from, int m) {
        for (int i = 0; i < m; i++) {
            to[i] = Float.float16ToFloat(ALL.get(JAVA_SHORT_UNALIGNED, from + 2L * i));
        }
    }

    @Override
    public void round(Tiles tiles, long to, int m) {
        float[] sum = (float[]) tiles.sum;
        for (int i = 0; i < m; i++) {
            ALL.set(JAVA_SHORT_UNALIGNED, to + 2L * i, Float.floatToFloat16(sum[i]));
        }
    }
}
