package org.jccl.executor;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tasks of operations that a device ran, for later ones. Any thread takes one; the owner of the
 * communicator gives them back.
 */
final class TaskPool {
    private static final int MOST = 1024;

    /** Those who take one lock it. */
    private final Inbox spare = new Inbox();

    /** How many there are. */
    private final AtomicInteger spares = new AtomicInteger();

    /** The latest one, which a look at what is under way may show still; owner only. */
    private @Nullable Task latest;

    /** One of them, or a new one. */
    Task take() {
        Task task;
        synchronized (spare) {
            task = spare.poll();
        }
        if (task == null) {
            task = new Task();
            task.pool = this;
        } else {
            spares.getAndDecrement();
        }
        return task;
    }

    /** Takes one back that is over and that nobody looks at; the owner calls this. */
    void giveBack(Task task) {
        Task before = latest;
        if (before != null && spares.get() < MOST) {
            spares.getAndIncrement();
            spare.add(before);
        }
        latest = task;
    }
}
