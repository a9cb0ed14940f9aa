package org.jccl.reduce;

import org.jccl.platform.Memory;
import org.jccl.type.RedOp;

import java.lang.invoke.MethodHandles;

/**
 * The template of float16's kernels, used only through copies ({@link Kind}). The Vector API does
 * not know the type, but C2 vectorises its conversions in loops over arrays, and such loops may
 * load from native memory as long as they store to the heap. So up to four sources are loaded,
 * folded and rounded by one loop, and only the result is copied.
 */
final class Float16Template extends Kernel {
    private static final Kind KIND = Kind.of(MethodHandles.lookup());
    private static final Kernel REST = KIND.rest();
    private static final int OP = KIND.op().number();
    private static final boolean AVERAGES = KIND.op() == RedOp.AVG;

    private static final int SOURCES = KIND.sources();

    /**
     * Elements of a tile. A loop begins and ends without vectors, for which its length makes up.
     */
    private static final int TILE = 4096;

    private static final ThreadLocal<float[]> WIDE = ThreadLocal.withInitial(() -> new float[TILE]);

    @Override
    void fold(long dst, long[] sources, int n, int divisor, long first, long count) {
        if (count - first <= StagedKernel.ONE_BY_ONE) {
            REST.fold(dst, sources, n, divisor, first, count);
            return;
        }
        float[] wide = WIDE.get();
        for (long i = first; i < count; i += TILE) {
            int m = (int) Math.min(TILE, count - i);
            long at = 2 * i;
            long c = SOURCES > 2 ? sources[2] + at : 0;
            long d = SOURCES > 3 ? sources[3] + at : 0;
            fold(wide, sources[0] + at, sources[1] + at, c, d, m);
            for (int k = 4; k < n; k++) {
                fold(wide, sources[k] + at, m);
            }
            round(dst + at, wide, divisor, m);
        }
    }

    private static void fold(float[] wide, long a, long b, long c, long d, int m) {
        for (int i = 0; i < m; i++) {
            float x = fold(widen(a + 2L * i), b + 2L * i);
            x = SOURCES > 2 ? fold(x, c + 2L * i) : x;
            wide[i] = SOURCES > 3 ? fold(x, d + 2L * i) : x;
        }
    }

    private static void fold(float[] wide, long source, int m) {
        for (int i = 0; i < m; i++) {
            wide[i] = fold(wide[i], source + 2L * i);
        }
    }

    private static float fold(float x, long address) {
        return StagedKernel.combine(OP, x, widen(address));
    }

    private static float widen(long address) {
        return Float.float16ToFloat(Memory.getShort(address));
    }

    private static void round(long dst, float[] wide, int divisor, int m) {
        for (int i = 0; i < m; i++) {
            float x = AVERAGES ? wide[i] / divisor : wide[i];
            Memory.putShort(dst + 2L * i, Float.floatToFloat16(x));
        }
    }
}
