package org.jccl.reduce;

import org.jspecify.annotations.Nullable;

/**
 * At the speed of C once it is compiled: each source is read once and the destination written once.
 * Has a kernel for each type, operation and number of sources, made when it is first needed; what
 * has none is staged. Classes that need the Vector API's module are linked at the first call only.
 */
final class VectorFold implements Fold {
    private static final StagedFold STAGED = new StagedFold();

    /**
     * By type, operation and sources; written and read by any thread, each kernel being as good.
     */
    private final @Nullable Fold[] kernels = new Fold[TYPES * OPS * (VectorKernel.MANY + 1)];

    @Override
    public void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        kernel(dataType, redOp, n).fold(dataType, redOp, dst, sources, n, count);
    }

    private Fold kernel(int dataType, int redOp, int n) {
        int at =
                (dataType * OPS + redOp) * (VectorKernel.MANY + 1) + Math.min(n, VectorKernel.MANY);
        Fold kernel = kernels[at];
        if (kernel == null) {
            kernel =
                    VectorKernel.exists(dataType, redOp)
                            ? VectorKernel.of(dataType, redOp, n).define()
                            : STAGED;
            kernels[at] = kernel;
        }
        return kernel;
    }
}
