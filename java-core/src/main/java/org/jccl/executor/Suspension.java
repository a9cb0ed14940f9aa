package org.jccl.executor;

/**
 * Time in which this process, or its machine, was stopped: that is nobody's lateness, since the
 * peers' answers may not have been read yet. Waits look much more often than once a second, one or
 * another; after a longer pause nothing ran here, or nobody waited.
 */
final class Suspension {
    private static final long LONGEST_NS = 1_000_000_000L;

    /** When a wait of this process looked last; guarded by the class's lock, as the next ones. */
    private static long lookedNs;

    private static boolean looked;
    private static long totalNs;

    private Suspension() {}

    /** A wait looks now: how long such pauses have been so far. */
    static synchronized long totalNs(long nowNs) {
        long pauseNs = looked ? nowNs - lookedNs : 1;
        looked = true;
        if (pauseNs > LONGEST_NS) {
            totalNs += pauseNs;
        }
        if (pauseNs > 0) {
            lookedNs = nowNs;
        }
        return totalNs;
    }
}
