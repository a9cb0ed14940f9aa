package org.jccl.executor;

import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

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
    private final Links links;
    private final Area area;

    /** By peer, made when first used: sends, then receives. */
    private final @Nullable Lane[] byPeer;

    /** Those that were made, in that order. */
    private final List<Lane> made = new ArrayList<>();

    private int size;

    /**
     * The lanes of one communicator.
     *
     * @param area where the data lies: FIFO, or EXCHANGE for those inside collectives
     */
    Lanes(Links links, Area area) {
        this.links = links;
        this.area = area;
        this.byPeer = new Lane[2 * links.nRanks()];
    }

    int size() {
        return size;
    }

    void add(Task task) {
        lane(task).tasks.add(task);
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
            if (lane.arrived() != null) {
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
        Lane out = byPeer[q];
        Task received = in == null ? null : in.arrived();
        return received != null || out == null ? received : out.arrived();
    }

    /** What a task that its lane is done with waits for while the device moves its data. */
    void awaitPeer(Task task, Blocked waits) {
        waits.unknown();
        if (task.operation() == Operation.SEND && task.peer() != links.rank()) {
            lane(task).awaitPeer(task, waits);
        }
    }

    private int receivesFrom(int q) {
        return byPeer.length / 2 + q;
    }

    private Lane lane(Task task) {
        int peer = task.peer();
        boolean sends = task.operation() == Operation.SEND;
        int at = sends ? peer : receivesFrom(peer);
        Lane lane = byPeer[at];
        if (lane == null) {
            lane = new Lane(links, area, peer, sends);
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
            if (lane.peer != links.rank()) {
                moved |= progress(lane, finished);
            }
        }
        return moved;
    }

    private boolean selfCopies(Consumer<Task> finished) {
        Lane out = byPeer[links.rank()];
        Lane in = byPeer[receivesFrom(links.rank())];
        boolean moved = false;
        while (out != null && in != null && out.arrived() != null && in.arrived() != null) {
            in.copy(out.tasks.element(), in.tasks.element());
            finished.accept(out.tasks.remove());
            finished.accept(in.tasks.remove());
            size -= 2;
            moved = true;
        }
        return moved;
    }

    private boolean progress(Lane lane, Consumer<Task> finished) {
        boolean moved = false;
        for (Task task = lane.arrived(); task != null; task = lane.arrived()) {
            long before = task.moved;
            if (!lane.advance(task)) {
                return moved || task.moved != before;
            }
            finished.accept(lane.tasks.remove());
            size--;
            moved = true;
        }
        return moved;
    }

    /** Empties all lanes into {@code ended}. */
    void clear(Consumer<Task> ended) {
        for (Lane lane : made) {
            lane.tasks.forEach(ended);
            lane.tasks.clear();
        }
        size = 0;
    }
}
