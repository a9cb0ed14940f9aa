package org.jccl.progress;

import org.jccl.platform.Cores;
import org.jccl.platform.Threads;

/**
 * Learns whether other work wants the cores of the threads that start operations: whether they
 * could run for a good part of the time and had no core. Several threads may ask at once, without
 * order: any answer is right, and the next look mends it.
 */
final class Crowd {
    /** Between two looks. */
    private static final long LOOK_NS = 200_000_000;

    /** Between two looks, in a crowd, at where the thread runs: others follow it. */
    private static final long CORE_NS = 5_000_000;

    /** A crowd begins where threads wait for a core for this part of the time ... */
    private static final int BEGIN = 4;

    /**
     * ... and goes where they wait for less than this and so much of the cores is idle: ranks that
     * make way for it may not have to wait for long.
     */
    private static final int END = 8;

    private static final int IDLE = 16;

    /**
     * Where no core is idle it goes after so many looks in a row without such waits, since the
     * ranks may fill the cores themselves. If it comes back sooner than that, it stays twice as
     * long.
     */
    private static final int LEAST_PATIENCE = 16;

    private static final int MOST_PATIENCE = 512;

    /** How many this process may use. */
    static final int CORES = Runtime.getRuntime().availableProcessors();

    private long thread = -1;
    private long lookedNs;
    private long delayedNs;
    private long idleNs;
    private boolean there;

    /** How many looks without waits there were in a row; below, how many end the crowd. */
    private int quiet = MOST_PATIENCE;

    private int patience = LEAST_PATIENCE;

    /** Where the thread that looked last ran, -1 if that is unknown; when it looked. */
    private int core = -1;

    private long coreNs;

    /** Whether there is one, as far as is known. */
    boolean isThere() {
        return there;
    }

    /** The core of the thread that starts operations, as far as is known; -1 if it is not. */
    int core() {
        return core;
    }

    /** Looks now and then; for a thread that starts an operation. */
    void look() {
        long nowNs = System.nanoTime();
        if (there && nowNs - coreNs > CORE_NS) {
            coreNs = nowNs;
            core = Cores.current();
        }
        if (thread < 0 || nowNs - lookedNs > LOOK_NS) {
            learn(Thread.currentThread().threadId(), nowNs, Threads.delayedNs(), Threads.idleNs());
        }
    }

    /**
     * Learns for how long a thread has waited for a core in all, and for how long all cores of the
     * machine together were idle; each is -1 if it is unknown. Where two threads start operations
     * in turn there is no crowd.
     */
    void learn(long id, long nowNs, long nowDelayedNs, long nowIdleNs) {
        long tookNs = nowNs - lookedNs;
        long waitedNs = id == thread && nowDelayedNs >= 0 ? nowDelayedNs - delayedNs : -1;
        boolean idle = nowIdleNs < 0 || nowIdleNs - idleNs >= CORES * tookNs / IDLE;
        there =
                there
                        ? stays(waitedNs >= 0 && waitedNs > tookNs / END, waitedNs < 0 || idle)
                        : begins(waitedNs > tookNs / BEGIN);
        thread = id;
        lookedNs = nowNs;
        delayedNs = nowDelayedNs;
        idleNs = nowIdleNs;
    }

    private boolean begins(boolean delayed) {
        quiet++;
        if (delayed) {
            patience = quiet > patience ? LEAST_PATIENCE : Math.min(MOST_PATIENCE, 2 * patience);
            quiet = 0;
        }
        return delayed;
    }

    private boolean stays(boolean delayed, boolean idle) {
        quiet = delayed ? 0 : quiet + 1;
        boolean goes = !delayed && (idle || quiet > patience);
        quiet = goes ? 0 : quiet;
        return !goes;
    }
}
