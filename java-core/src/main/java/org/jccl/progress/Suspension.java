package org.jccl.progress;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Time in which this process, or its machine, was stopped. It makes no peer late, since the peers'
 * answers may not have been read yet. While threads wait, one or another looks much more often than
 * once a second; in a longer pause nothing ran here, or nobody waited.
 */
final class Suspension {
    private static final long LONGEST_NS = 1_000_000_000L;

    /**
     * A look so soon after another is not noted: it tells nothing, and all waiters would write
     * here.
     */
    private static final long SOON_NS = 1_000_000;

    /** When a wait of this process last looked, 0 if none has; any thread that looks (atomic). */
    private static final AtomicLong LAST_LOOK_NS = new AtomicLong();

    /** How long all pauses were; written under the monitor, before LAST_LOOK_NS (volatile). */
    private static volatile long pausesNs;

    private Suspension() {}

    /** Notes that a wait looks now; returns the time of a clock that stands still in pauses. */
    static long clockNs(long nowNs) {
        long last = LAST_LOOK_NS.get();
        long sinceNs = last == 0 ? 0 : nowNs - last;
        if (sinceNs > LONGEST_NS) {
            addPause(nowNs);
        } else if (sinceNs > SOON_NS || last == 0) {
            LAST_LOOK_NS.compareAndSet(last, nowNs);
        }
        return nowNs - pausesNs;
    }

    /** Counts a pause; the other threads that look after it wait here meanwhile. */
    private static synchronized void addPause(long nowNs) {
        long sinceNs = nowNs - LAST_LOOK_NS.get();
        if (sinceNs > LONGEST_NS) {
            pausesNs += sinceNs;
            LAST_LOOK_NS.set(nowNs);
        }
    }
}
