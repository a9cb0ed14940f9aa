package org.jccl.reduce;

final class VectorFoldTest extends FoldContractTest {
    private final Fold fold = new VectorFold();

    @Override
    Fold fold() {
        return fold;
    }
}
