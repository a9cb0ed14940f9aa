package org.jccl.reduce;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

/** Makes the kernels: a staged one for each type and operation, and vector kernels where it can. */
final class Kernels {
    /** Pairs of a type and an operation. */
    static final int PAIRS = DataType.values().length * RedOp.NUMBERS;

    /**
     * Made when they are needed first. Written under this class's lock; read by every folding
     * thread, plainly: kernels have no fields.
     */
    private static final @Nullable Kernel[] STAGED = new Kernel[PAIRS];

    private Kernels() {}

    /** The pair of these numbers. */
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
    static Kernel staged(int pair) {
        Kernel kernel = STAGED[pair];
        return kernel == null ? makeStaged(pair) : kernel;
    }

    private static synchronized Kernel makeStaged(int pair) {
        Kernel kernel = STAGED[pair];
        if (kernel == null) {
            Kind kind = new Kind(type(pair), op(pair), Kind.MANY, false, null);
            kernel = kind.copy(StagedTemplate.class);
            STAGED[pair] = kernel;
        }
        return kernel;
    }

    /** Whether there are vector kernels for the pair. Integers cannot be divided in vectors. */
    static boolean hasVector(int pair) {
        DataType type = type(pair);
        boolean isInteger = type.number() <= DataType.UINT64.number();
        return type == DataType.FLOAT32
                || type == DataType.FLOAT64
                || type == DataType.BFLOAT16
                || isInteger && op(pair) != RedOp.AVG;
    }

    /**
     * Makes the vector kernel for n sources: long vectors, short ones for what is left after the
     * last of them and for small counts, and the staged kernel for what is left then.
     */
    static Kernel vector(int pair, int n) {
        int sources = Math.min(n, Kind.MANY);
        Kernel rest = staged(pair);
        rest = new Kind(type(pair), op(pair), sources, false, rest).copy(VectorTemplate.class);
        return new Kind(type(pair), op(pair), sources, true, rest).copy(VectorTemplate.class);
    }
}
