package org.jccl.reduce;

import org.jccl.log.Log;
import org.jccl.param.Params;
import org.jccl.platform.Threads;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.BitSet;

/**
 * Decides which kernel folds. Vector code is a hundred times slower than any other until C2 has
 * compiled it, so every kernel starts as staged; once enough elements have gone through it, the
 * daemon thread {@code jccl-warm} runs its vector twin on buffers of its own until that is fast,
 * and switches. The thread ends when nothing is left to warm; the next kernel starts it again.
 */
public final class Warmup {
    /**
     * Elements through a staged kernel that make its vector twin worth the compiler's time: with
     * less, what the twin would have saved is far from the tenths of a second that it takes.
     */
    private static final long COLD_ELEMENTS = 1 << 27;

    /** What a call of a staged kernel costs beside its elements, in elements. */
    private static final long CALL_ELEMENTS = 400;

    /** Kernels of each type and operation: for two, three, four and more sources. */
    private static final int SIZES = 4;

    /** What the first calls most likely need. */
    private static final int FIRST = Reductions.pair(DataType.FLOAT32.number(), RedOp.SUM.number());

    private static final int SLOTS = SIZES * Reductions.PAIRS;

    /**
     * The vector kernel of each slot, once it is fast. Written by jccl-warm; read by every folding
     * thread, plainly: kernels have no fields, and a late switch changes no bit.
     */
    private static final @Nullable Kernel[] VECTORS = new Kernel[SLOTS];

    /**
     * Elements folded by a staged kernel so far, calls included, or negative once nothing is to be
     * asked for. Written and read by every folding thread without order: a lost count only delays,
     * and asking twice does nothing.
     */
    private static final long[] COLD = new long[SLOTS];

    private static final Object LOCK = new Object();

    /** Slots that wait to be warmed. Guarded by LOCK. */
    private static final BitSet PENDING = new BitSet(SLOTS);

    /** Slots that were asked for, whatever came of it. Guarded by LOCK. */
    private static final BitSet ASKED = new BitSet(SLOTS);

    /** The running thread. Guarded by LOCK. */
    private static @Nullable Thread thread;

    /** Whether start() was called. Guarded by LOCK. */
    private static boolean started;

    private static final String VM_MODE = System.getProperty("java.vm.info", "");

    /** Whether vector kernels may be used at all. They need C2; the property is HotSpot's. */
    private static final boolean IS_VECTOR_AVAILABLE =
            ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent()
                    && !Params.NO_VECTOR.get()
                    && !VM_MODE.matches(".*(interpreted|emulated-client).*");

    private Warmup() {}

    /**
     * Prepares for the switches to come, in the background. The first communicator calls it; later
     * calls do nothing.
     */
    public static void start() {
        synchronized (LOCK) {
            if (!started) {
                started = true;
                ensureThread();
            }
        }
    }

    /**
     * Asks for the kernels of all folds so far, however few, and waits until they have been warmed.
     * For benchmarks, after their first calls.
     *
     * @param ms longest time to wait in milliseconds
     * @return whether nothing is left to warm
     */
    public static boolean await(int ms) throws InterruptedException {
        for (int slot = 0; slot < SLOTS; slot++) {
            if (COLD[slot] > 0) {
                ask(slot);
            }
        }
        Thread warming;
        synchronized (LOCK) {
            warming = thread;
        }
        return warming == null || warming.join(Duration.ofMillis(ms));
    }

    /** The kernel to use now for a call with these arguments. */
    static Kernel current(int pair, int n, long count) {
        int slot = SIZES * pair + Math.min(n - 2, SIZES - 1);
        long cold = COLD[slot];
        if (cold >= 0) {
            COLD[slot] = cold + CALL_ELEMENTS + count;
            if (cold >= COLD_ELEMENTS) {
                ask(slot);
            }
        }
        Kernel vector = VECTORS[slot];
        return vector == null ? Reductions.staged(pair) : vector;
    }

    private static void ask(int slot) {
        boolean possible = IS_VECTOR_AVAILABLE && Reductions.hasVector(slot / SIZES);
        synchronized (LOCK) {
            COLD[slot] = -1;
            if (possible && !ASKED.get(slot)) {
                ASKED.set(slot);
                PENDING.set(slot);
                ensureThread();
            }
        }
    }

    private static void ensureThread() {
        if (thread == null) {
            Thread starting = Threads.daemon("jccl-warm", Warmup::run);
            thread = starting;
            try {
                starting.start();
            } catch (Error noThread) {
                thread = null;
                Log.survived("jccl-warm does not start, kernels stay slower: ", noThread);
            }
        }
    }

    private static void run() {
        try {
            Kernel first = Reductions.staged(FIRST);
            if (IS_VECTOR_AVAILABLE) {
                WarmupRun.shapeProfile(first, new Nothing(), new Nothing() {});
            }
            WarmupRun.warmStaged(first, Reductions.type(FIRST), 2);
            for (int slot = next(); slot >= 0; slot = next()) {
                warm(slot);
            }
        } catch (InterruptedException | RuntimeException | Error failure) {
            giveUp();
            Log.survived("jccl-warm gives up, kernels stay slower: ", failure);
        }
    }

    private static void warm(int slot) throws InterruptedException {
        int least = slot % SIZES + 2;
        int most = least < Kind.MANY ? least : least + 2;
        int pair = slot / SIZES;
        Kernel staged = Reductions.staged(pair);
        Kernel vector = Reductions.vector(pair, least);
        boolean fast = true;
        for (int n = least; n <= most && fast; n++) {
            fast = WarmupRun.warm(staged, vector, Reductions.type(pair), n);
        }
        if (fast) {
            VECTORS[slot] = vector;
        }
    }

    /** Two of these stand for the kernels that are not there yet. */
    private static class Nothing extends Kernel {
        @Override
        void fold(long dst, long[] sources, int n, int divisor, long first, long count) {}
    }

    /** The next slot to warm, or -1: then the thread no longer counts as running. */
    private static int next() {
        synchronized (LOCK) {
            int slot = PENDING.nextSetBit(0);
            if (slot >= 0) {
                PENDING.clear(slot);
            } else {
                thread = null;
            }
            return slot;
        }
    }

    /** For good: what kept one kernel from being warmed keeps the others, too. */
    private static void giveUp() {
        synchronized (LOCK) {
            PENDING.clear();
            ASKED.set(0, SLOTS);
            thread = null;
        }
    }
}
