package org.jccl.progress;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Time in which this process, or its machine, was stopped: that is nobody's lateness, since the
 * peers' answers may not have been read yet. Waits look much more often than once a second, one or
 * another; after a longer pause nothing ran here, or nobody waited.
 */
final class Suspension {
    private static final long LONGEST_NS = 1_000_000_000L;

    /** Looks that follow so soon tell nothing, and all threads that wait would write here. */
    private static final long SOON_NS = 1_000_000;

    /** When a wait of this process looked last, 0 before (atomic, any thread that looks). */
    private static final AtomicLong LAST_LOOK_NS = new AtomicLong();

    /** How long the pauses have been; written under the monitor, before LAST_LOOK_NS, volatile. */
    private static volatile long pausesNs;

    private Suspension() {}

    /** A wait looks now: how long such pauses have been so far. */
    static long totalNs(long nowNs) {
        long last = LAST_LOOK_NS.get();
        long sinceNs = last == 0 ? 0 : nowNs - last;
        if (sinceNs > LONGEST_NS) {
            addPause(nowNs);
        } else if (sinceNs > SOON_NS || last == 0) {
            LAST_LOOK_NS.compareAndSet(last, nowNs);
        }
        return pausesNs;
    }

    /** The others that look after a pause wait here until it is counted. */
    private static synchronized void addPause(long nowNs) {
        long sinceNs = nowNs - LAST_LOOK_NS.get();
        if (sinceNs > LONGEST_NS) {
            pausesNs += sinceNs;
            LAST_LOOK_NS.set(nowNs);
        }
    }
}
