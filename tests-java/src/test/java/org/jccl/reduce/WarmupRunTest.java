package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;

/** When a vector kernel counts as compiled. */
final class WarmupRunTest {
    private static final long INTERRUPTION_NS = 3_000_000;

    private int folds;

    /** Ranks that keep every core busy interrupt folds like this; the limit is 20 s of work. */
    @Test
    void kernelIsFastThoughFoldsAreInterrupted() throws InterruptedException {
        int pair = Reductions.pair(DataType.FLOAT32.number(), RedOp.SUM.number());
        Kernel staged = Reductions.staged(pair);
        Kernel interrupted =
                new Kernel() {
                    @Override
                    void fold(
                            long dst, long[] sources, int n, int divisor, long first, long count) {
                        staged.fold(dst, sources, n, divisor, first, count);
                        if (++folds % 8 == 0) {
                            pass(INTERRUPTION_NS);
                        }
                    }
                };
        assertTrue(WarmupRun.warm(staged, interrupted, DataType.FLOAT32, 2));
    }

    private static void pass(long ns) {
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < ns) {
            Thread.onSpinWait();
        }
    }
}
