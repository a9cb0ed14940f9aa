package org.jccl.reduce;

import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;

/**
 * Folds the ranks' buffers into one, element by element, strictly from the first source to the
 * last, so that every rank computes the same bits.
 *
 * <ul>
 *   <li>float16, bfloat16 and the 8-bit floats are accumulated in float32 and rounded once, to
 *       nearest even; 8-bit floats saturate, so that only NaNs and finite numbers come out.
 *   <li>AVG divides the sum by n: floats in the type of the accumulator, integers toward zero after
 *       the sum has wrapped to their width.
 *   <li>MAX and MIN: a NaN wins, −0 is less than +0. Sums and products of integers wrap.
 * </ul>
 */
public final class Reductions {
    /** Below this many bytes a plain loop is faster than the shortest vectors. */
    static final int VECTOR_BYTES = 16;

    private Reductions() {}

    /**
     * dst = sources[0] op sources[1] op … op sources[n - 1]. Addresses are absolute and need no
     * alignment; dst may equal one source, or several, but not overlap one partly. Nothing is
     * checked: a wrong address is SIGSEGV. Allocates nothing once the thread has folded the type.
     *
     * @param dataType NCCL's number of a type
     * @param redOp NCCL's number of a predefined operation
     * @param dst address of the result
     * @param sources addresses in rank order; entries from n on are ignored
     * @param n number of sources, at least 1
     * @param count elements, at least 0
     */
    public static void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        int pair = Kernels.pair(dataType, redOp);
        long bytes = count * DataType.of(dataType).sizeBytes();
        if (n == 1) {
            if (dst != sources[0]) {
                Memory.copy(sources[0], dst, bytes);
            }
        } else if (bytes < VECTOR_BYTES) {
            run(Kernels.staged(pair), dst, sources, n, count);
        } else {
            run(Warmup.current(pair, n, count), dst, sources, n, count);
        }
    }

    /**
     * dst = dst / n, as AVG divides. Addresses as of {@link #fold}.
     *
     * @param dataType NCCL's number of a type
     * @param n at least 1
     * @param count elements, at least 0
     */
    public static void divide(int dataType, long dst, int n, long count) {
        Kernels.staged(Kernels.pair(dataType, RedOp.AVG.number())).divide(dst, n, count);
    }

    /** The one place that calls a kernel, so that {@link Warmup} can shape its profile. */
    static void run(Kernel kernel, long dst, long[] sources, int n, long count) {
        kernel.fold(dst, sources, n, n, 0, count);
    }
}
