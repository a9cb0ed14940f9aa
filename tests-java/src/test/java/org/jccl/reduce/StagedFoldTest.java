package org.jccl.reduce;

final class StagedFoldTest extends FoldContractTest {
    private final Fold fold = new StagedFold();

    @Override
    Fold fold() {
        return fold;
    }
}
