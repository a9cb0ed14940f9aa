package org.jccl.progress;

import org.jccl.executor.Task;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Counts finished asynchronous tasks of this process, for a thread that completes futures. */
public final class Completions {
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Condition CHANGED = LOCK.newCondition();

    /** Guarded by LOCK. */
    private static long finished;

    private Completions() {}

    static void add() {
        LOCK.lock();
        try {
            finished++;
            CHANGED.signalAll();
        } finally {
            LOCK.unlock();
        }
    }

    /** Counts the task's end from now on, and at once if it has come already. */
    static void expect(Task task) {
        task.setStarted();
        if (task.over()) {
            add();
        }
    }

    /**
     * Waits until the count differs from {@code seen}, for at most {@code ms} milliseconds.
     *
     * @return the count
     */
    public static long await(long seen, int ms) {
        LOCK.lock();
        try {
            long left = TimeUnit.MILLISECONDS.toNanos(ms);
            while (finished == seen && left > 0) {
                left = CHANGED.awaitNanos(left);
            }
            return finished;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return finished;
        } finally {
            LOCK.unlock();
        }
    }
}
