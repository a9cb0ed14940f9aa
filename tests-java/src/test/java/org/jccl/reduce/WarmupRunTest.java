package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When a vector kernel counts as compiled. */
final class WarmupRunTest {
    private static final long INTERRUPTION_NS = 3_000_000;

    private int folds;

    /** As beside ranks that keep every core busy; the limit is 20 s of work. */
    @Test
    void kernelIsFastThoughFoldsAreInterrupted() throws InterruptedException {
        Fold staged = new StagedFold();
        Fold interrupted =
                (type, op, dst, sources, n, count) -> {
                    staged.fold(type, op, dst, sources, n, count);
                    if (++folds % 8 == 0) {
                        pass(INTERRUPTION_NS);
                    }
                };
        assertTrue(WarmupRun.warm(staged, interrupted, Fold.FLOAT32, Fold.SUM, 2));
    }

    private static void pass(long ns) {
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < ns) {
            Thread.onSpinWait();
        }
    }
}
