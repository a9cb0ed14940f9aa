package org.jccl.executor;

import java.util.concurrent.atomic.AtomicReference;

/**
 * Time in which this process, or its machine, was stopped: that is nobody's lateness, since the
 * peers' answers may not have been read yet. Waits look much more often than once a second, one or
 * another; after a longer pause nothing ran here, or nobody waited.
 */
final class Suspension {
    private static final long LONGEST_NS = 1_000_000_000L;

    /** Looks that follow so soon tell nothing, and all threads that wait would write here. */
    private static final long SOON_NS = 1_000_000;

    /** When a wait of this process looked last, and how long the pauses have been until then. */
    private record Look(long atNs, long totalNs) {}

    /** Replaced by whichever thread looks (atomically). */
    private static final AtomicReference<Look> LAST =
            new AtomicReference<>(new Look(System.nanoTime(), 0));

    private Suspension() {}

    /** A wait looks now: how long such pauses have been so far. */
    static long totalNs(long nowNs) {
        Look last = LAST.get();
        while (nowNs - last.atNs > SOON_NS) {
            long pauseNs = nowNs - last.atNs;
            long counted = pauseNs > LONGEST_NS ? pauseNs : 0;
            Look next = new Look(nowNs, last.totalNs + counted);
            if (LAST.compareAndSet(last, next)) {
                return next.totalNs;
            }
            last = LAST.get();
        }
        return last.totalNs;
    }
}
