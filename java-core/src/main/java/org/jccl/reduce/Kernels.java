package org.jccl.reduce;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

/** The kernels of each pair of a type and an operation. */
final class Kernels {
    /** Number of pairs. */
    static final int PAIRS = DataType.values().length * RedOp.NUMBERS;

    /**
     * Written and read by every folding thread without order: either of two equal ones may stay.
     */
    private static final @Nullable StagedKernel[] STAGED = new StagedKernel[PAIRS];

    private Kernels() {}

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
