package org.jccl.progress;

import org.jccl.executor.Task;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Numbers of the operations of one communicator that were started without waiting. An operation
 * that is complete is forgotten at once, one that has failed stays for all who ask; these are no
 * more than what was under way, since a communicator takes nothing after a failure.
 */
public final class Tickets {
    private final Map<Long, Task> tasks = new ConcurrentHashMap<>();
    private final AtomicLong last = new AtomicLong();

    Tickets() {}

    /** Numbers a task that is about to be submitted. */
    long give(Task task) {
        long ticket = last.incrementAndGet();
        task.ticket(ticket);
        tasks.put(ticket, task);
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

    /** Forgets a ticket. */
    public void forget(long ticket) {
        tasks.remove(ticket);
    }
}
