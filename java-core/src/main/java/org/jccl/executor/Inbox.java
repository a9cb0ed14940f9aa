package org.jccl.executor;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicReference;

/**
 * Tasks on their way from any threads to one that takes them, in the order in which they came. It
 * makes no objects: a task links to the next one, and is in one of these at most.
 */
public final class Inbox {
    /** Each links to the one that came before; any thread adds (compare and set). */
    private final AtomicReference<@Nullable Task> newest = new AtomicReference<>();

    /** Those that were taken from there, each links to the one that came after. */
    private volatile @Nullable Task oldest;

    /** Adds a task; any thread. */
    public boolean add(Task task) {
        Task before;
        do {
            before = newest.get();
            task.link = before;
        } while (!newest.compareAndSet(before, task));
        return true;
    }

    /**
     * Adds tasks of which each links to the one that came before, back to the first; any thread.
     */
    void addAll(Task last, Task first) {
        Task before;
        do {
            before = newest.get();
            first.link = before;
        } while (!newest.compareAndSet(before, last));
    }

    /** Whether there is none; any thread. */
    public boolean isEmpty() {
        return newest.get() == null && oldest == null;
    }

    /** Takes the oldest one, if there is one; one thread at a time. */
    public @Nullable Task poll() {
        Task first = oldest;
        if (first == null) {
            if (newest.get() == null) {
                return null;
            }
            // Without a call from here on: if the stack overflowed, all these tasks would be lost.
            Task rest = newest.getAndSet(null);
            while (rest != null) {
                Task next = rest.link;
                rest.link = first;
                first = rest;
                rest = next;
            }
            if (first == null) {
                return null;
            }
        }
        oldest = first.link;
        first.link = null;
        return first;
    }
}
