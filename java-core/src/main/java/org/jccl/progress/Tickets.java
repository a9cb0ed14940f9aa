package org.jccl.progress;

import org.jccl.executor.Task;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.Map;

/**
 * Numbers of one communicator's operations that were started without waiting. A complete operation
 * is forgotten when its number is asked for or after a few more were given; a failed one stays for
 * all who ask. No more of these stay than were under way, since a communicator takes nothing after
 * a failure.
 */
public final class Tickets {
    /** A power of two. */
    private static final int NEWEST = 64;

    private record Entry(long ticket, Task task) {}

    /** The newest ones, by the last digits of their numbers. */
    private final @Nullable Entry[] newest = new Entry[NEWEST];

    /** Older ones that are under way or have failed. */
    private final Map<Long, Task> older = new HashMap<>();

    private long last;

    Tickets() {}

    /** Numbers a task that was submitted. */
    synchronized long give(Task task) {
        Entry entry = new Entry(last + 1, task);
        Entry before = newest[place(entry.ticket)];
        // First: if there is no memory for it, nothing has changed.
        if (before != null && !succeeded(before.task)) {
            older.put(before.ticket, before.task);
            before.task.whenOver(() -> older(before.ticket));
        }
        newest[place(entry.ticket)] = entry;
        last = entry.ticket;
        return last;
    }

    /** The task with this ticket; null if it is over and did not fail. */
    public synchronized @Nullable Task task(long ticket) {
        Entry entry = newest[place(ticket)];
        if (entry == null || entry.ticket != ticket) {
            return older(ticket);
        }
        if (succeeded(entry.task)) {
            newest[place(ticket)] = null;
            return null;
        }
        return entry.task;
    }

    private synchronized @Nullable Task older(long ticket) {
        Task task = older.get(ticket);
        if (task != null && succeeded(task)) {
            older.remove(ticket);
            return null;
        }
        return task;
    }

    /** Whether the ticket was ever given. */
    public synchronized boolean known(long ticket) {
        return ticket >= 1 && ticket <= last;
    }

    /** How many operations are kept. */
    synchronized int size() {
        int size = older.size();
        for (Entry each : newest) {
            size += each == null ? 0 : 1;
        }
        return size;
    }

    private static boolean succeeded(Task task) {
        return task.over() && task.failure() == null;
    }

    private static int place(long ticket) {
        return (int) ticket & NEWEST - 1;
    }
}
