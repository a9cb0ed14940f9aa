package org.jccl.progress;

/**
 * When a thread that moves several communicators looks at the health of all of them: every 20 ms,
 * and less often if they are many. Of two threads that look at once one may do so in vain.
 */
final class Looks {
    private static final long EVERY_NS = 20_000_000;
    private static final long EVERY_NS_EACH = 50_000;

    private long lastNs = System.nanoTime();

    /** Whether so many communicators are to be looked at now. */
    boolean areDue(int communicators) {
        long nowNs = System.nanoTime();
        boolean due = nowNs - lastNs >= Math.max(EVERY_NS, communicators * EVERY_NS_EACH);
        lastNs = due ? nowNs : lastNs;
        return due;
    }
}
