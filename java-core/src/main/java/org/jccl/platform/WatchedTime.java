package org.jccl.platform;

/**
 * Time that somebody who looks again and again has watched pass. Between two looks at most a second
 * counts: after a longer pause this process, or its machine, was stopped, and what the others did
 * meanwhile has not been seen yet. Used by one thread at a time.
 */
public final class WatchedTime {
    private static final long LONGEST_NS = 1_000_000_000L;

    private long passedNs;
    private long lookedNs = System.nanoTime();

    /** Looks; how much time has passed so far. */
    public long lookNs() {
        long now = System.nanoTime();
        passedNs += Math.min(LONGEST_NS, now - lookedNs);
        lookedNs = now;
        return passedNs;
    }
}
