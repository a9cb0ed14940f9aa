package org.jccl.executor;

import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * Sends and receives that are under way: one queue for each peer and direction; the queues go on
 * independently.
 *
 * <p>Used by the owner of the communicator only.
 */
final class Lanes {
    private static final int FIRST_SIZE = 4;

    private final int rank;
    private final Fifo fifo;

    /** By peer, made when first used: sends, then receives. */
    private final @Nullable Lane[] byPeer;

    /** Those that were made, in that order. */
    private final List<Lane> made = new ArrayList<>();

    private int size;

    /** The sends to one peer, or the receives from it. */
    private static final class Lane extends ArrayDeque<Task> {
        private static final long serialVersionUID = 1;

        final int peer;
        private final transient Blocked blocked = new Blocked();

        Lane(int peer) {
            super(FIRST_SIZE);
            this.peer = peer;
        }

        boolean hasArrived() {
            Task first = peek();
            return first != null && first.arrived();
        }

        /** What the first waits for; null if there is none. */
        @Nullable Blocked blocked() {
            Task first = peek();
            return first == null ? null : blocked.of(first);
        }
    }

    /**
     * The lanes of one communicator.
     *
     * @param area where the data lies: FIFO, or EXCHANGE for those inside collectives
     */
    Lanes(Links links, Area area) {
        this.rank = links.rank();
        this.fifo = new Fifo(links, area);
        this.byPeer = new Lane[2 * links.nRanks()];
    }

    int size() {
        return size;
    }

    void add(Task task) {
        lane(task).add(task);
        size++;
    }

    /** What the task's lane waits for. */
    @Nullable Blocked blocked(Task task) {
        return lane(task).blocked();
    }

    /**
     * What a lane waits for, a different one in each turn; one whose stream has come, if any has.
     *
     * @return null if nothing is under way
     */
    @Nullable Blocked any(int turn) {
        Blocked found = null;
        for (int i = 0; size > 0 && i < made.size(); i++) {
            Lane lane = made.get((turn + i) % made.size());
            if (lane.hasArrived()) {
                return lane.blocked();
            }
            found = found == null ? lane.blocked() : found;
        }
        return found;
    }

    /** Passes on what each lane waits for, and how far its first task has come. */
    void forEachBlocked(ObjLongConsumer<Blocked> action) {
        for (int i = 0; size > 0 && i < made.size(); i++) {
            Blocked blocked = made.get(i).blocked();
            if (blocked != null) {
                action.accept(blocked, blocked.task().moved);
            }
        }
    }

    /**
     * A task that cannot end without something more from rank {@code q}: any that has begun and is
     * left when everything that could move has moved.
     */
    @Nullable Task needing(int q) {
        Lane in = byPeer[receivesFrom(q)];
        if (in != null && in.hasArrived()) {
            return in.peek();
        }
        Lane out = byPeer[q];
        return out != null && out.hasArrived() ? out.peek() : null;
    }

    private int receivesFrom(int q) {
        return byPeer.length / 2 + q;
    }

    private Lane lane(Task task) {
        int peer = task.peer();
        int at = task.operation() == Operation.SEND ? peer : receivesFrom(peer);
        Lane lane = byPeer[at];
        if (lane == null) {
            lane = new Lane(peer);
            byPeer[at] = lane;
            made.add(lane);
        }
        return lane;
    }

    /**
     * Moves what can move.
     *
     * @param finished gets every task that is complete
     * @return whether anything moved
     */
    boolean progress(Consumer<Task> finished) {
        boolean moved = selfCopies(finished);
        for (int i = 0; i < made.size(); i++) {
            Lane lane = made.get(i);
            if (lane.peer != rank) {
                moved |= progress(lane, finished);
            }
        }
        return moved;
    }

    private boolean selfCopies(Consumer<Task> finished) {
        Lane out = byPeer[rank];
        Lane in = byPeer[receivesFrom(rank)];
        boolean moved = false;
        while (out != null && in != null && out.hasArrived() && in.hasArrived()) {
            fifo.copy(out.element(), in.element());
            finished.accept(out.remove());
            finished.accept(in.remove());
            size -= 2;
            moved = true;
        }
        return moved;
    }

    private boolean progress(Lane lane, Consumer<Task> finished) {
        boolean moved = false;
        for (Task task = lane.peek(); task != null; task = lane.peek()) {
            long before = task.moved;
            if (!task.arrived()) {
                return moved;
            }
            if (!fifo.advance(task, lane.blocked)) {
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
        for (Lane lane : made) {
            lane.forEach(ended);
            lane.clear();
        }
        size = 0;
    }
}
