package org.jccl.reduce;

import org.jccl.platform.Memory;
import org.jccl.type.DataType;

import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** What jccl-warm does for one kernel: calls it in short batches until C2 has compiled it. */
final class WarmupRun {
    private static final int BUFFER_BYTES = 16384;
    private static final int STAGED_CALLS = 100;
    private static final int SHAPING_ROUNDS = 10;
    private static final int SHAPING_CALLS = 300;
    private static final long BATCH_NS = TimeUnit.MICROSECONDS.toNanos(200);

    /** After so much work the machine must be busy or slow: go on trying, but take little of it. */
    private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(2);

    /** After so much work C2 will not do it. */
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(20);

    /** A vector kernel that is so much slower than the staged one is not compiled. */
    private static final int SLOWER = 3;

    /** Fast batches of every count that a kernel needs before it serves. */
    private static final int FAST_BATCHES = 3;

    private static final long LONGEST_PAUSE_NS = TimeUnit.SECONDS.toNanos(1);

    /** How many times longer than the work are the pauses in which C2 compiles. */
    private static final int REST = 2;

    /** The same, once patience is over. */
    private static final int LONG_REST = 20;

    private WarmupRun() {}

    /**
     * Shows all kernels to the profile of the call in {@link Reductions#run}, with no elements. A
     * caller that C2 has compiled for one kernel alone would fall back to the interpreter, with
     * everything around it, at the switch.
     */
    static void shapeProfile(Kernel... kernels) throws InterruptedException {
        long[] none = new long[2];
        for (int round = 0; round < SHAPING_ROUNDS; round++) {
            for (int call = 0; call < SHAPING_CALLS; call++) {
                for (Kernel kernel : kernels) {
                    Reductions.run(kernel, 0, none, 2, 0);
                }
            }
            Thread.sleep(1);
        }
    }

    /** Makes C2 compile the staged kernel. */
    static void warmStaged(Kernel staged, DataType type, int n) {
        try (Arena arena = Arena.ofConfined()) {
            long[] sources = sources(arena, n);
            long dst = arena.allocate(BUFFER_BYTES, 64).address();
            for (int call = 0; call < STAGED_CALLS; call++) {
                for (int count : counts(type)) {
                    staged.fold(dst, sources, n, n, 0, count);
                }
            }
        }
    }

    /**
     * Warms the vector kernel.
     *
     * @return whether no count takes it much longer than the staged one; if not, this machine lacks
     *     its instructions
     */
    static boolean warm(Kernel staged, Kernel vector, DataType type, int n)
            throws InterruptedException {
        warmStaged(staged, type, n);
        try (Arena arena = Arena.ofConfined()) {
            long[] sources = sources(arena, n);
            long dst = arena.allocate(BUFFER_BYTES, 64).address();
            int[] counts = counts(type);
            long[] stagedNs = new long[counts.length];
            Arrays.fill(stagedNs, Long.MAX_VALUE);
            long worked = 0;
            int[] fastBatches = new int[counts.length];
            boolean fast = false;
            while (!fast && worked < LIMIT_NS) {
                long begin = System.nanoTime();
                fast = true;
                for (int i = 0; i < counts.length; i++) {
                    long ns = fastest(staged, dst, sources, counts[i]);
                    stagedNs[i] = Math.min(stagedNs[i], ns);
                    ns = fastest(vector, dst, sources, counts[i]);
                    fastBatches[i] += ns < SLOWER * stagedNs[i] ? 1 : 0;
                    fast &= fastBatches[i] >= FAST_BATCHES;
                }
                long took = System.nanoTime() - begin;
                worked += took;
                int rest = worked < PATIENCE_NS ? REST : LONG_REST;
                TimeUnit.NANOSECONDS.sleep(Math.min(rest * took, LONGEST_PAUSE_NS));
            }
            return fast;
        }
    }

    private static long[] sources(Arena arena, int n) {
        long[] sources = new long[n];
        for (int k = 0; k < n; k++) {
            sources[k] = arena.allocate(BUFFER_BYTES, 64).address();
            scribble(sources[k], k);
        }
        return sources;
    }

    /** With tails and without, long and short, since C2 omits what it has never seen run. */
    private static int[] counts(DataType type) {
        int full = BUFFER_BYTES / type.sizeBytes();
        return new int[] {full, full - 5, full, 37, 4};
    }

    /**
     * Folds again and again for a while; nanoseconds of the fastest fold. The others may have been
     * interrupted by whoever else works on this core.
     */
    private static long fastest(Kernel kernel, long dst, long[] sources, int count) {
        long begin = System.nanoTime();
        long fastest = Long.MAX_VALUE;
        for (long at = begin; at - begin < BATCH_NS; ) {
            kernel.fold(dst, sources, sources.length, sources.length, 0, count);
            long now = System.nanoTime();
            fastest = Math.min(fastest, now - at);
            at = now;
        }
        return fastest;
    }

    /** Bits of every kind, NaNs among them, so that no branch is compiled away as never taken. */
    private static void scribble(long address, int seed) {
        int bits = seed + 1;
        for (int at = 0; at < BUFFER_BYTES; at += 4) {
            bits = bits * 1664525 + 1013904223;
            Memory.putInt(address + at, bits ^ (bits >>> 16));
        }
    }
}
