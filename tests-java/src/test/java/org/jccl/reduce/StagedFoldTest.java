package org.jccl.reduce;

final class StagedFoldTest extends FoldContractTest {
    @Override
    Fold fold() {
        return (type, op, dst, sources, n, count) ->
                Reductions.staged(Reductions.pair(type, op)).fold(dst, sources, n, n, 0, count);
    }
}
