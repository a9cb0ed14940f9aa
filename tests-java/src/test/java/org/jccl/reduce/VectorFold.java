package org.jccl.reduce;

/** All vector kernels behind one door; what has none is staged. */
final class VectorFold implements Fold {
    private static final int SIZES = VectorKernel.MANY + 1;

    private final Fold[] kernels = new Fold[TYPES * OPS * SIZES];

    VectorFold() {
        Fold staged = new StagedFold();
        for (int type = 0; type < TYPES; type++) {
            for (int op = 0; op < OPS; op++) {
                for (int n = 2; n < SIZES; n++) {
                    boolean exists = VectorKernel.exists(type, op);
                    kernels[at(type, op, n)] =
                            exists ? VectorKernel.of(type, op, n).define() : staged;
                }
            }
        }
    }

    private static int at(int dataType, int redOp, int n) {
        return (dataType * OPS + redOp) * SIZES + Math.min(n, VectorKernel.MANY);
    }

    @Override
    public void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        kernels[at(dataType, redOp, n)].fold(dataType, redOp, dst, sources, n, count);
    }
}
