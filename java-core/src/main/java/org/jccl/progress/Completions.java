package org.jccl.progress;

import org.jccl.executor.Task;

/**
 * Counts ends of asynchronous tasks of this process, of those that somebody wants to hear of, for a
 * thread that completes futures.
 */
public final class Completions {
    private static final long MS = 1_000_000;

    private static final Runnable ADD = Completions::add;

    /** Written under the monitor of this class, read by all (volatile). */
    private static volatile long finished;

    private Completions() {}

    /** Counts the end of a task, once however often it is asked to. */
    static void watch(Task task) {
        task.whenOverOnce(ADD);
    }

    /** Counts an end. */
    static void add() {
        synchronized (Completions.class) {
            finished++;
            Completions.class.notifyAll();
        }
        Lender.wake();
    }

    /**
     * Waits until the count differs from {@code seen}, for at most {@code ms} milliseconds. One of
     * the threads that wait is lent to operations that nobody waits for.
     *
     * @return the count
     */
    public static long await(long seen, int ms) {
        long untilNs = System.nanoTime() + ms * MS;
        boolean lendable = ms > 0 && !Thread.currentThread().isVirtual();
        if (!lendable || !Lender.lend(() -> finished != seen, untilNs)) {
            sleep(seen, untilNs);
        }
        return finished;
    }

    private static synchronized void sleep(long seen, long untilNs) {
        try {
            while (finished == seen) {
                long leftMs = (untilNs - System.nanoTime() + MS - 1) / MS;
                if (leftMs <= 0) {
                    return;
                }
                Completions.class.wait(leftMs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
