package org.jccl.progress;

/**
 * Counts finished asynchronous tasks of this process, for a thread that completes futures. The
 * monitor of this class guards the count.
 */
public final class Completions {
    private static final long MS = 1_000_000;

    private static long finished;

    private Completions() {}

    /** Counts the end of a task. */
    static synchronized void add() {
        finished++;
        Completions.class.notifyAll();
    }

    /**
     * Waits until the count differs from {@code seen}, for at most {@code ms} milliseconds.
     *
     * @return the count
     */
    public static synchronized long await(long seen, int ms) {
        long endNs = System.nanoTime() + ms * MS;
        try {
            long left = ms;
            while (finished == seen && left > 0) {
                Completions.class.wait(left);
                left = (endNs - System.nanoTime()) / MS;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return finished;
    }
}
