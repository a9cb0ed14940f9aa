package org.jccl.platform;

/**
 * The time that a thread has watched pass, looking again and again. Between two looks at most a
 * second counts: in a longer pause this process, or its machine, was stopped, and it has not yet
 * seen what the others did meanwhile. Used by one thread at a time.
 */
public final class WatchedTime {
    private static final long LONGEST_NS = 1_000_000_000L;

    private boolean stopped;
    private long passedNs;
    private long lookedNs = System.nanoTime();

    /** Looks; how much time has passed so far. */
    public long lookNs() {
        long now = System.nanoTime();
        passedNs = stopped ? 0 : passedNs + Math.min(LONGEST_NS, now - lookedNs);
        stopped = false;
        lookedNs = now;
        return passedNs;
    }

    /** The time begins anew with the next look. */
    public void stop() {
        stopped = true;
    }
}
