package org.jccl.reduce;

import org.jccl.log.Log;
import org.jccl.param.Params;
import org.jspecify.annotations.Nullable;

import java.util.BitSet;
import java.util.concurrent.TimeUnit;

/**
 * Decides which variant folds. Vector code is a hundred times slower than any other until C2 has
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

    /** What a call of a staged kernel takes longer, in elements. */
    private static final long CALL_ELEMENTS = 400;

    /** Kernels of each type and operation: for two, three, four and more sources. */
    private static final int SIZES = 4;

    private static final int SLOTS = SIZES * Fold.TYPES * Fold.OPS;

    private static final Fold SCALAR = new ScalarFold();
    private static final Fold STAGED = new StagedFold();

    /** Stands for the kernels, which are not there yet. */
    private static final Fold NOTHING = new Nothing();

    /**
     * The variant of each slot. Written by jccl-warm; read by every folding thread, plainly: the
     * variants have no fields, and a late switch changes no bit.
     */
    private static final Fold[] FOLDS = new Fold[SLOTS];

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

    private static final boolean IS_VECTOR_AVAILABLE = isVectorAvailable();

    static {
        for (int slot = 0; slot < SLOTS; slot++) {
            FOLDS[slot] = STAGED;
            COLD[slot] =
                    IS_VECTOR_AVAILABLE && VectorKernel.exists(dataType(slot), redOp(slot))
                            ? 0
                            : -1;
        }
    }

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
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        for (int slot = 0; slot < SLOTS; slot++) {
            if (COLD[slot] > 0) {
                ask(slot);
            }
        }
        synchronized (LOCK) {
            while (thread != null) {
                long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
                if (left <= 0) {
                    return false;
                }
                LOCK.wait(left);
            }
            return true;
        }
    }

    /** The variant to use now for a call with these arguments. */
    static Fold current(int dataType, int redOp, int n, long count) {
        int slot = slot(dataType, redOp, n);
        if (COLD[slot] >= 0) {
            countCold(slot, count);
        }
        return FOLDS[slot];
    }

    /** Whether the vector variant may be used at all in this process. */
    static boolean isVectorAvailable() {
        return ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent()
                && !Params.NO_VECTOR.get()
                && isC2There();
    }

    /** Whether this JVM compiles with C2 at all; the properties are HotSpot's. */
    private static boolean isC2There() {
        String mode = System.getProperty("java.vm.info", "");
        return !mode.contains("interpreted") && !mode.contains("emulated-client");
    }

    private static int slot(int dataType, int redOp, int n) {
        return SIZES * (dataType * Fold.OPS + redOp) + Math.min(n - 2, SIZES - 1);
    }

    private static int dataType(int slot) {
        return slot / SIZES / Fold.OPS;
    }

    private static int redOp(int slot) {
        return slot / SIZES % Fold.OPS;
    }

    private static void countCold(int slot, long count) {
        long cold = COLD[slot] + CALL_ELEMENTS + count;
        COLD[slot] = cold;
        if (cold >= COLD_ELEMENTS) {
            ask(slot);
        }
    }

    private static void ask(int slot) {
        synchronized (LOCK) {
            boolean possible = COLD[slot] >= 0 && !ASKED.get(slot);
            COLD[slot] = -1;
            if (possible) {
                ASKED.set(slot);
                PENDING.set(slot);
                ensureThread();
            }
        }
    }

    private static void ensureThread() {
        if (thread == null) {
            Thread starting = new Thread(null, Warmup::run, "jccl-warm", 0, false);
            starting.setDaemon(true);
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
        boolean ended = false;
        try {
            if (IS_VECTOR_AVAILABLE) {
                WarmupRun.shapeProfile(SCALAR, STAGED, NOTHING);
            }
            WarmupRun.warmStaged(STAGED);
            for (int slot = next(); slot >= 0; slot = next()) {
                warm(slot);
            }
            ended = true;
        } catch (RuntimeException | Error failure) {
            Log.survived("jccl-warm gives up, kernels stay slower: ", failure);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } finally {
            if (!ended) {
                giveUp();
            }
        }
    }

    private static void warm(int slot) throws InterruptedException {
        int least = slot % SIZES + 2;
        int most = least < VectorKernel.MANY ? least : least + 2;
        Fold kernel = VectorKernel.of(dataType(slot), redOp(slot), least).define();
        boolean fast = true;
        for (int n = least; n <= most && fast; n++) {
            fast = WarmupRun.warm(STAGED, kernel, dataType(slot), redOp(slot), n);
        }
        if (fast) {
            FOLDS[slot] = kernel;
        }
    }

    private static final class Nothing implements Fold {
        @Override
        public void fold(int type, int op, long dst, long[] sources, int n, long count) {}
    }

    /** The next slot to warm, or -1: then the thread no longer counts as running. */
    private static int next() {
        synchronized (LOCK) {
            int slot = PENDING.nextSetBit(0);
            if (slot >= 0) {
                PENDING.clear(slot);
            } else {
                thread = null;
                LOCK.notifyAll();
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
            LOCK.notifyAll();
        }
    }
}
