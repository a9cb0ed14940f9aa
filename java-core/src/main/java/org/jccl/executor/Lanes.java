package org.jccl.executor;

import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * Sends and receives that are under way: one queue for each peer and direction, which go on
 * independently.
 *
 * <p>Used by the owner of the communicator only.
 */
final class Lanes {
    private final int rank;
    private final Fifo fifo;
    private final ArrayDeque<Task>[] sends;
    private final ArrayDeque<Task>[] receives;
    private int size;

    /**
     * The lanes of one communicator.
     *
     * @param area where the data lies: FIFO, or EXCHANGE for those inside collectives
     */
    Lanes(Links links, Area area) {
        this.rank = links.rank();
        this.fifo = new Fifo(links, area);
        this.sends = queues(links.nRanks());
        this.receives = queues(links.nRanks());
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static ArrayDeque<Task>[] queues(int n) {
        ArrayDeque<Task>[] queues = new ArrayDeque[n];
        for (int i = 0; i < n; i++) {
            queues[i] = new ArrayDeque<>();
        }
        return queues;
    }

    Fifo fifo() {
        return fifo;
    }

    int size() {
        return size;
    }

    void add(Task task) {
        lane(task).add(task);
        size++;
    }

    /** The first of the lane that the task is in. */
    @Nullable Task first(Task task) {
        return lane(task).peek();
    }

    /** The first of a lane, in turn of another one; of one whose stream has come, if any has. */
    @Nullable Task any(int turn) {
        Task found = null;
        for (int i = 0; size > 0 && i < 2 * sends.length; i++) {
            int k = (turn + i) % (2 * sends.length);
            Task task = (k < sends.length ? sends[k] : receives[k - sends.length]).peek();
            if (task != null && task.arrived()) {
                return task;
            }
            found = found == null ? task : found;
        }
        return found;
    }

    /** The first of each lane, and how far it has come. */
    void forEachFirst(ObjLongConsumer<Task> action) {
        for (int q = 0; size > 0 && q < sends.length; q++) {
            forFirst(sends[q], action);
            forFirst(receives[q], action);
        }
    }

    private static void forFirst(ArrayDeque<Task> lane, ObjLongConsumer<Task> action) {
        Task first = lane.peek();
        if (first != null) {
            action.accept(first, first.moved);
        }
    }

    /**
     * What cannot end without something more from rank {@code q}: all that has begun and is left
     * when everything that could move has moved.
     */
    @Nullable Task needing(int q) {
        if (arrived(receives[q])) {
            return receives[q].peek();
        }
        return arrived(sends[q]) ? sends[q].peek() : null;
    }

    private ArrayDeque<Task> lane(Task task) {
        return (task.operation == Operation.SEND ? sends : receives)[task.peer];
    }

    /**
     * Moves what can move.
     *
     * @param finished gets every task that is complete
     * @return whether anything moved
     */
    boolean progress(Consumer<Task> finished) {
        boolean moved = selfCopies(finished);
        for (int q = 0; q < sends.length; q++) {
            if (q != rank) {
                moved |= progress(sends[q], finished);
                moved |= progress(receives[q], finished);
            }
        }
        return moved;
    }

    private boolean selfCopies(Consumer<Task> finished) {
        ArrayDeque<Task> out = sends[rank];
        ArrayDeque<Task> in = receives[rank];
        boolean moved = false;
        while (arrived(out) && arrived(in)) {
            fifo.copy(out.element(), in.element());
            finished.accept(out.remove());
            finished.accept(in.remove());
            size -= 2;
            moved = true;
        }
        return moved;
    }

    private static boolean arrived(ArrayDeque<Task> lane) {
        Task first = lane.peek();
        return first != null && first.arrived();
    }

    private boolean progress(ArrayDeque<Task> lane, Consumer<Task> finished) {
        boolean moved = false;
        for (Task task = lane.peek(); task != null; task = lane.peek()) {
            long before = task.moved;
            if (!task.arrived()) {
                return moved;
            }
            if (!fifo.advance(task)) {
                return moved || task.moved != before;
            }
            finished.accept(lane.remove());
            size--;
            moved = true;
        }
        return moved;
    }

    /** Empties all lanes into {@code ended}. */
    void clear(Consumer<Task> ended) {
        for (int q = 0; q < sends.length; q++) {
            sends[q].forEach(ended);
            sends[q].clear();
            receives[q].forEach(ended);
            receives[q].clear();
        }
        size = 0;
    }
}
