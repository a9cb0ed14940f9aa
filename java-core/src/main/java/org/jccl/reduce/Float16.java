package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import java.lang.foreign.ValueLayout;

/** IEEE 754's half precision. C2 turns its conversions into vector instructions. */
final class Float16 extends NarrowFloat {
    private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;

    @Override
    int inInt() {
        return 1;
    }

    @Override
    float widen(int bits) {
        return Float.float16ToFloat((short) bits);
    }

    @Override
    int round(float value) {
        return Float.floatToFloat16(value);
    }

    @Override
    void widen(Tiles tiles, float[] to, long from, int m) {
        for (int i = 0; i < m; i++) {
            to[i] = Float.float16ToFloat(ALL.get(I16, from + 2L * i));
        }
    }

    @Override
    void round(Tiles tiles, long to, int m) {
        float[] sum = (float[]) tiles.sum;
        for (int i = 0; i < m; i++) {
            ALL.set(I16, to + 2L * i, Float.floatToFloat16(sum[i]));
        }
    }
}
