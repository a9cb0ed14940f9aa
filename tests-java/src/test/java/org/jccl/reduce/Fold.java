package org.jccl.reduce;

/** One way to fold, with the arguments of {@link Reductions#fold}. */
interface Fold {
    void fold(int dataType, int redOp, long dst, long[] sources, int n, long count);
}
