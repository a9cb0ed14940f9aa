package org.jccl.reduce;

/** A few elements at a time, which the staged kernels fold one by one. */
final class ScalarFoldTest extends FoldContractTest {
    private static final int FEW = 3;

    @Override
    Fold fold() {
        return (type, op, dst, sources, n, count) -> {
            for (long first = 0; first < count; first += FEW) {
                long end = Math.min(first + FEW, count);
                Reductions.staged(Reductions.pair(type, op)).fold(dst, sources, n, n, first, end);
            }
        };
    }
}
