package org.jccl.progress;

import org.jccl.executor.Task;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Numbers of one communicator's operations that were started without waiting. A complete operation
 * is forgotten at once; a failed one stays for all who ask. No more of these stay than were under
 * way, since a communicator takes nothing after a failure.
 */
public final class Tickets {
    private final Map<Long, Task> tasks = new ConcurrentHashMap<>();
    private final AtomicLong last = new AtomicLong();

    Tickets() {}

    /** Numbers a task that was submitted. */
    long give(Task task) {
        long ticket = last.incrementAndGet();
        tasks.put(ticket, task);
        task.whenOver(
                () -> {
                    if (task.failure() == null) {
                        tasks.remove(ticket);
                    }
                });
        return ticket;
    }

    /** The task with this ticket; null if it is over and did not fail. */
    public @Nullable Task task(long ticket) {
        return tasks.get(ticket);
    }

    /** Whether the ticket was ever given. */
    public boolean known(long ticket) {
        return ticket >= 1 && ticket <= last.get();
    }
}
