package org.jccl.progress;

import org.jccl.platform.Threads;

/**
 * Learns whether other work wants the cores of the threads that start operations: whether they
 * could run for a good part of the time and had no core. Several threads may ask at once, without
 * order: any answer is right, and the next look mends it.
 */
final class Crowd {
    /** Between two looks. */
    private static final long LOOK_NS = 200_000_000;

    /** A crowd begins where threads wait for a core for this part of the time ... */
    private static final int BEGIN = 4;

    /** ... and goes where they wait for less than this, since the ranks make way for it. */
    private static final int END = 8;

    private long thread = -1;
    private long lookedNs;
    private long delayedNs;
    private boolean there;

    /** Whether there is one, as far as is known. */
    boolean isThere() {
        return there;
    }

    /** Looks now and then; for a thread that starts an operation. */
    void look() {
        long nowNs = System.nanoTime();
        if (thread < 0 || nowNs - lookedNs > LOOK_NS) {
            learn(Thread.currentThread().threadId(), nowNs, Threads.delayedNs());
        }
    }

    /**
     * Learns for how long a thread has waited for a core in all, -1 if that is unknown. Where two
     * threads start operations in turn there is no crowd.
     */
    void learn(long id, long nowNs, long nowDelayedNs) {
        long part = (nowNs - lookedNs) / (there ? END : BEGIN);
        there = id == thread && nowDelayedNs >= 0 && nowDelayedNs - delayedNs > part;
        thread = id;
        lookedNs = nowNs;
        delayedNs = nowDelayedNs;
    }
}
