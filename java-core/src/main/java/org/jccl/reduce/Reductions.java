package org.jccl.reduce;

import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

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

    /** Number of pairs. */
    static final int PAIRS = DataType.values().length * RedOp.NUMBERS;

    /**
     * Written and read by every folding thread without order: either of two equal ones may stay.
     */
    private static final @Nullable StagedKernel[] STAGED = new StagedKernel[PAIRS];

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
        int pair = pair(dataType, redOp);
        long bytes = count * staged(pair).elementBytes();
        if (n == 1) {
            if (dst != sources[0]) {
                Memory.copy(sources[0], dst, bytes);
            }
        } else if (bytes < VECTOR_BYTES) {
            run(staged(pair), dst, sources, n, count);
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
        staged(pair(dataType, RedOp.AVG.number())).divide(dst, n, count);
    }

    /** The one place that calls a kernel, so that {@link Warmup} can shape its profile. */
    static void run(Kernel kernel, long dst, long[] sources, int n, long count) {
        kernel.fold(dst, sources, n, n, 0, count);
    }

    /** The pair with NCCL's numbers of a type and of a predefined operation. */
    static int pair(int dataType, int redOp) {
        return dataType * RedOp.NUMBERS + redOp;
    }

    static DataType type(int pair) {
        return DataType.of(pair / RedOp.NUMBERS);
    }

    static RedOp op(int pair) {
        return RedOp.of(pair % RedOp.NUMBERS);
    }

    /** The kernel that folds by itself, for any number of sources. */
    static StagedKernel staged(int pair) {
        StagedKernel kernel = STAGED[pair];
        if (kernel == null) {
            kernel = new StagedKernel(type(pair), op(pair));
            STAGED[pair] = kernel;
        }
        return kernel;
    }

    /**
     * Whether C2 makes vectors for the pair. It cannot divide integers, nor does it know the floats
     * of 8 bits.
     */
    static boolean hasVector(int pair) {
        DataType type = type(pair);
        boolean isFloat8 = type == DataType.FLOAT8E4M3 || type == DataType.FLOAT8E5M2;
        return !isFloat8 && !(type.isInteger() && op(pair) == RedOp.AVG);
    }

    /**
     * Makes the vector kernel for n sources: long vectors, short ones for what is left after the
     * last of them and for small counts, and the staged kernel for what is left then. float16,
     * which has no vectors, has loops of its own.
     */
    static Kernel vector(int pair, int n) {
        int sources = Math.min(n, Kind.MANY);
        Kernel rest = staged(pair);
        Kind kind = new Kind(type(pair), op(pair), sources, false, rest);
        if (kind.type() == DataType.FLOAT16) {
            return kind.copy(Float16Template.class);
        }
        rest = kind.copy(VectorTemplate.class);
        return new Kind(kind.type(), kind.op(), sources, true, rest).copy(VectorTemplate.class);
    }
}
