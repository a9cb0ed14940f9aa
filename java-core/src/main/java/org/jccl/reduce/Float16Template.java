package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.StagedKernel.combine;

import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import org.jccl.type.RedOp;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;

/**
 * The template of float16's kernels, used only through copies ({@link Kind}). The Vector API does
 * not know the type, but C2 vectorises its conversions in loops over arrays, and such loops may
 * load from native memory as long as they store to the heap. So up to four sources are loaded,
 * folded and rounded by one loop, and only the result is copied. More are folded to floats first.
 */
final class Float16Template extends Kernel {
    private static final Kind KIND = Kind.of(MethodHandles.lookup());
    private static final Kernel REST = KIND.rest();
    private static final int OP = KIND.op().number();
    private static final boolean AVERAGES = KIND.op() == RedOp.AVG;

    private static final int SOURCES = KIND.sources();

    /**
     * Elements of a tile: four that C2 folds one by one, up to the next eight bytes where it may
     * begin with vectors, and then whole steps of its last vector loop, which takes 32. It would
     * fold one by one what is left after those, too.
     */
    private static final int TILE = 4 + 128 * 32;

    private static final ThreadLocal<short[]> SUM = ThreadLocal.withInitial(() -> new short[TILE]);
    private static final ThreadLocal<float[]> WIDE = ThreadLocal.withInitial(() -> new float[TILE]);

    @Override
    void fold(long dst, long[] sources, int n, int divisor, long first, long count) {
        if (count - first <= StagedKernel.ONE_BY_ONE) {
            REST.fold(dst, sources, n, divisor, first, count);
            return;
        }
        short[] sum = SUM.get();
        for (long i = first; i < count; i += TILE) {
            int m = (int) Math.min(TILE, count - i);
            long at = 2 * i;
            long c = SOURCES > 2 ? sources[2] + at : 0;
            long d = SOURCES > 3 ? sources[3] + at : 0;
            if (SOURCES < Kind.MANY) {
                fold(sum, sources[0] + at, sources[1] + at, c, d, divisor, m);
            } else {
                foldMany(sum, sources, n, divisor, at, m);
            }
            MemorySegment.copy(sum, 0, ALL, JAVA_SHORT_UNALIGNED, dst + at, m);
        }
    }

    private static void fold(short[] sum, long a, long b, long c, long d, int divisor, int m) {
        for (int i = 0; i < m; i++) {
            sum[i] = round(fold(a, b, c, d, 2L * i), divisor);
        }
    }

    private static void foldMany(short[] sum, long[] sources, int n, int divisor, long at, int m) {
        float[] wide = WIDE.get();
        for (int i = 0; i < m; i++) {
            long next = at + 2L * i;
            wide[i] = fold(sources[0], sources[1], sources[2], sources[3], next);
        }
        for (int k = 4; k < n; k++) {
            long source = sources[k] + at;
            for (int i = 0; i < m; i++) {
                wide[i] = combine(OP, wide[i], widen(source + 2L * i));
            }
        }
        for (int i = 0; i < m; i++) {
            sum[i] = round(wide[i], divisor);
        }
    }

    private static float fold(long a, long b, long c, long d, long at) {
        float x = combine(OP, widen(a + at), widen(b + at));
        x = SOURCES > 2 ? combine(OP, x, widen(c + at)) : x;
        return SOURCES > 3 ? combine(OP, x, widen(d + at)) : x;
    }

    private static float widen(long address) {
        return Float.float16ToFloat(ALL.get(JAVA_SHORT_UNALIGNED, address));
    }

    private static short round(float x, int divisor) {
        return Float.floatToFloat16(AVERAGES ? x / divisor : x);
    }
}
