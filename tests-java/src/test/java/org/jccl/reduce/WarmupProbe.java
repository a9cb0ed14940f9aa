package org.jccl.reduce;

import com.sun.management.ThreadMXBean;

import org.jccl.oracle.Oracle;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Folds in a process of its own, whose kernels are cold, and prints: the variants before and after
 * the warm-up, the number of wrong results, the bytes allocated by each later call, and whether the
 * warming thread has ended.
 */
final class WarmupProbe {
    private static final int COUNT = 1 << 16;
    private static final int CALLS = 20_000;
    private static final Duration COMPILED_WITHIN = Duration.ofMinutes(5);

    private final byte[] left;
    private final byte[] right;
    private final byte[] expected;
    private final Guarded dst;
    private final long[] sources = new long[2];
    private int wrong;

    private WarmupProbe(Arena arena) {
        Random random = new Random(1);
        left = Oracle.randomInput(DataType.BFLOAT16, RedOp.SUM, COUNT, random);
        right = Oracle.randomInput(DataType.BFLOAT16, RedOp.SUM, COUNT, random);
        expected = Oracle.fold(DataType.BFLOAT16, RedOp.SUM, new byte[][] {left, right});
        dst = new Guarded(arena, left.length, 0);
        Guarded first = new Guarded(arena, left.length, 0);
        first.put(left);
        Guarded second = new Guarded(arena, left.length, 2);
        second.put(right);
        sources[0] = first.address();
        sources[1] = second.address();
    }

    public static void main(String[] args) throws InterruptedException {
        try (Arena arena = Arena.ofConfined()) {
            Warmup.start();
            WarmupProbe probe = new WarmupProbe(arena);
            probe.fold(3);
            String before = variant();
            boolean warm = Warmup.await(900_000);
            probe.fold(3);
            long allocated = probe.allocatedPerCall();
            // Only now: that was float16's first use.
            String after = variant();
            System.out.println(
                    String.join(
                            " ",
                            before,
                            after,
                            "wrong=" + probe.wrong,
                            "allocated=" + allocated,
                            "ended=" + (warm && !warmerIsAlive())));
        }
    }

    /** The variants of the two kernels in {@link #allocated} that vectors serve at those counts. */
    private static String variant() {
        return Stream.of(
                        Reductions.pair(DataType.BFLOAT16.number(), RedOp.SUM.number()),
                        Reductions.pair(DataType.FLOAT16.number(), RedOp.AVG.number()))
                .map(WarmupProbe::variant)
                .distinct()
                .collect(Collectors.joining("+"));
    }

    private static String variant(int pair) {
        return Warmup.current(pair, 2, 0).equals(Reductions.staged(pair)) ? "staged" : "vector";
    }

    private void fold(int calls) {
        for (int call = 0; call < calls; call++) {
            fold(DataType.BFLOAT16, RedOp.SUM, COUNT);
            wrong += Oracle.equalBits(DataType.BFLOAT16, expected, dst.get()) ? 0 : 1;
        }
    }

    private void fold(DataType type, RedOp op, int count) {
        Reductions.fold(type.number(), op.number(), dst.address(), sources, 2, count);
    }

    /**
     * The bytes that a call of scalar, staged and, if warm, vector kernels allocates once they are
     * compiled. On a machine with other work the compilers take a while.
     */
    private long allocatedPerCall() throws InterruptedException {
        long end = System.nanoTime() + COMPILED_WITHIN.toNanos();
        allocated();
        long perCall = allocated();
        while (perCall != 0 && System.nanoTime() - end < 0) {
            perCall = allocated();
        }
        return perCall;
    }

    private long allocated() throws InterruptedException {
        // The compilers finish what the calls before have asked for before it is used.
        Warmup.await(900_000);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int call = 0; call < CALLS; call++) {
            fold(DataType.FLOAT32, RedOp.SUM, 2);
            fold(DataType.BFLOAT16, RedOp.SUM, 99);
            fold(DataType.FLOAT16, RedOp.AVG, 99);
            fold(DataType.UINT8, RedOp.AVG, 99);
        }
        return (threads.getCurrentThreadAllocatedBytes() - before) / CALLS;
    }

    private static boolean warmerIsAlive() throws InterruptedException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("jccl-warm")) {
                thread.join(10_000);
                return thread.isAlive();
            }
        }
        return false;
    }
}
