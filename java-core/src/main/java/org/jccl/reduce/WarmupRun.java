package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;

/** What jccl-warm does for one kernel: calls it in short batches until C2 has compiled it. */
final class WarmupRun {
    private static final int BUFFER_BYTES = 16384;

    /** Elements less than a full buffer, so that the tail's loop is compiled too. */
    private static final int ODD = 5;

    private static final int STAGED_CALLS = 200;
    private static final int SHAPING_ROUNDS = 10;
    private static final int SHAPING_CALLS = 300;
    private static final long BATCH_NS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(5);

    private WarmupRun() {}

    /**
     * Shows all variants to the profile of the call in {@link Reductions#run}, with no elements. A
     * caller that C2 has compiled for one variant alone would fall back to the interpreter, with
     * everything around it, at the switch.
     */
    static void shapeProfile(Fold... variants) throws InterruptedException {
        long[] none = new long[2];
        for (int round = 0; round < SHAPING_ROUNDS; round++) {
            for (int call = 0; call < SHAPING_CALLS; call++) {
                for (Fold variant : variants) {
                    Reductions.run(variant, Fold.FLOAT16, Fold.SUM, 0, none, 2, 0);
                }
            }
            Thread.sleep(1);
        }
    }

    /**
     * Warms the vector kernel.
     *
     * @return whether it has become about as fast as the staged one or faster; if not, this machine
     *     lacks its instructions
     */
    static boolean warm(Fold staged, Fold vector, int dataType, int redOp, int n)
            throws InterruptedException {
        try (Arena arena = Arena.ofConfined()) {
            long[] sources = new long[n];
            for (int k = 0; k < n; k++) {
                sources[k] = arena.allocate(BUFFER_BYTES, 64).address();
                scribble(sources[k], k);
            }
            long dst = arena.allocate(BUFFER_BYTES, 64).address();
            int count = BUFFER_BYTES / Fold.sizeBytes(dataType) - ODD;
            for (int call = 0; call < STAGED_CALLS; call++) {
                staged.fold(dataType, redOp, dst, sources, n, count);
            }
            long end = System.nanoTime() + LIMIT_NS;
            long stagedNs = Long.MAX_VALUE;
            int fastBatches = 0;
            while (fastBatches < 3 && System.nanoTime() < end) {
                stagedNs = Math.min(stagedNs, batch(staged, dataType, redOp, dst, sources, count));
                long vectorNs = batch(vector, dataType, redOp, dst, sources, count);
                fastBatches = vectorNs < 2 * stagedNs ? fastBatches + 1 : 0;
                Thread.sleep(1);
            }
            return fastBatches >= 3;
        }
    }

    /** Folds for about a millisecond; nanoseconds of one call. */
    private static long batch(
            Fold fold, int dataType, int redOp, long dst, long[] sources, long count) {
        long begin = System.nanoTime();
        long spent = 0;
        long calls = 0;
        while (spent < BATCH_NS) {
            fold.fold(dataType, redOp, dst, sources, sources.length, count);
            calls++;
            spent = System.nanoTime() - begin;
        }
        return spent / calls;
    }

    /** Bits of every kind, NaNs among them, so that no branch is compiled away as never taken. */
    private static void scribble(long address, int seed) {
        int bits = seed + 1;
        for (int at = 0; at < BUFFER_BYTES; at += 4) {
            bits = bits * 1664525 + 1013904223;
            ALL.set(ValueLayout.JAVA_INT, address + at, bits ^ (bits >>> 16));
        }
    }
}
