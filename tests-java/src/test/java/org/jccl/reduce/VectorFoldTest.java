package org.jccl.reduce;

final class VectorFoldTest extends FoldContractTest {
    /** Made once: it has hundreds of classes. */
    private static final Fold FOLD = new VectorFold();

    @Override
    Fold fold() {
        return FOLD;
    }
}
