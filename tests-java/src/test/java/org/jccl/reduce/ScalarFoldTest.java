package org.jccl.reduce;

final class ScalarFoldTest extends FoldContractTest {
    private final Fold fold = new ScalarFold();

    @Override
    Fold fold() {
        return fold;
    }
}
