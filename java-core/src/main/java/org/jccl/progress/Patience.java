package org.jccl.progress;

import org.jccl.platform.Threads;

/**
 * How long a thread that waits looks again and again before it sleeps.
 *
 * <p>A rank with a core of its own polls, then yields, or goes on polling while yields are dear.
 * How long it does so depends on the sleeps of this process: twice as long after a short one, half
 * as long after a long one. Otherwise ranks could not leave a state in which each sleeps because
 * the other has woken late. On a virtual machine, where a thread on an idle core runs a tenth of a
 * millisecond after it was woken, a call of 0.3 µs would then take 50. Beside other work, where a
 * peer is away for a whole slice, the rank soon sleeps almost at once.
 */
final class Patience {
    /** From this round of a wait on the waiter sleeps between its looks. */
    static final int TIRED = 1 << 30;

    /** Rounds without a clock. */
    static final int SPINS = 8;

    private static final int YIELDS = 50;
    private static final long LEAST_NS = 50_000;
    private static final long MOST_NS = 1_000_000;
    private static final long SHORT_SLEEP_NS = 500_000;

    /**
     * By how much the time is shorter than the longest. Threads that have slept write it and all
     * waiters read it, without order: any value is right, and a lost one is learnt again.
     */
    private static long cutNs;

    private Patience() {}

    /**
     * When the time of a wait began to count: now, in the first round after the spins, or before.
     */
    static long since(int round, long sinceNs) {
        return round == SPINS + 1 ? System.nanoTime() : sinceNs;
    }

    /**
     * Passes the time between two looks.
     *
     * @param round looks without movement so far
     * @param lone whether the rank has a core of its own
     * @param sinceNs what {@link #since} has returned
     * @return the round, or TIRED
     */
    static int turn(int round, boolean lone, long sinceNs) {
        if (lone && round <= SPINS) {
            Thread.onSpinWait();
            return round;
        }
        boolean dear = Threads.yieldInCrowd(lone);
        if (!lone) {
            return dear || round >= SPINS + YIELDS ? TIRED : round;
        }
        if (dear) {
            Thread.onSpinWait();
        }
        return System.nanoTime() - sinceNs > MOST_NS - cutNs ? TIRED : round;
    }

    /** Learns from a sleep. */
    static void slept(long tookNs) {
        long ns = MOST_NS - cutNs;
        cutNs =
                MOST_NS
                        - (tookNs < SHORT_SLEEP_NS
                                ? Math.min(MOST_NS, 2 * ns)
                                : Math.max(LEAST_NS, ns / 2));
    }
}
