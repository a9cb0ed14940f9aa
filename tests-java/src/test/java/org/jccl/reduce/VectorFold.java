package org.jccl.reduce;

/** All vector kernels behind one door; what has none is staged. */
final class VectorFold implements Fold {
    private static final int SIZES = Kind.MANY + 1;

    private final Kernel[] kernels = new Kernel[Reductions.PAIRS * SIZES];

    VectorFold() {
        for (int pair = 0; pair < Reductions.PAIRS; pair++) {
            for (int n = 2; n < SIZES; n++) {
                boolean exists = Reductions.hasVector(pair);
                kernels[at(pair, n)] =
                        exists ? Reductions.vector(pair, n) : Reductions.staged(pair);
            }
        }
    }

    private static int at(int pair, int n) {
        return pair * SIZES + Math.min(n, Kind.MANY);
    }

    @Override
    public void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        Kernel kernel = kernels[at(Reductions.pair(dataType, redOp), n)];
        kernel.fold(dst, sources, n, n, 0, count);
    }
}
