package org.jccl.reduce;

import org.jccl.platform.Memory;

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
            to[i] = Float.float16ToFloat(Memory.getShort(from + 2L * i));
        }
    }

    @Override
    public void round(Tiles tiles, long to, int m) {
        float[] sum = (float[]) tiles.sum;
        for (int i = 0; i < m; i++) {
            Memory.putShort(to + 2L * i, Float.floatToFloat16(sum[i]));
        }
    }
}
