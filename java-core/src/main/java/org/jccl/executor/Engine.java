package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * What moves the operations of one communicator. Collectives run one after the other in the order
 * in which they were added, those that consist of sends and receives among them; the callers' own
 * sends and receives run beside them, in order for each peer and direction. On a device an
 * operation begins when its stream has come to it, and is over when its result is there.
 *
 * <p>Used by the owner of the communicator only, so its fields are plain.
 */
final class Engine {
    /** What a rank does in a call so far ahead of this one's, it cannot have done yet. */
    private static final int MOST_AHEAD = 3;

    private final Links links;
    private final Interpreter interpreter;
    private final Lanes lanes;

    /** Sends and receives of the collective that is current. */
    private final Lanes exchange;

    private final Counters counters = new Counters();
    private final @Nullable DeviceQueue device;
    private final Consumer<Task> over;
    private final Consumer<Task> finishPointToPoint = this::finishPointToPoint;
    private final Consumer<Task> transferred = this::transferred;
    private final Consumer<Task> delivered = this::end;
    private final ArrayDeque<Task> collectives = new ArrayDeque<>();
    private @Nullable Task current;

    /** Whether the plan of {@link #current} is done and its sends and receives are under way. */
    private boolean exchanging;

    /** Counts how often something of it moved. */
    private long exchanged;

    private int turn;

    /**
     * An engine over {@code links}.
     *
     * @param device what the buffers belong to, null for the host
     * @param over gets each task that was added, when it is done
     */
    Engine(Links links, @Nullable Device device, Consumer<Task> over) {
        this.links = links;
        this.interpreter = new Interpreter(links);
        this.lanes = new Lanes(links, Area.FIFO);
        this.exchange = new Lanes(links, Area.EXCHANGE);
        this.device = device == null ? null : new DeviceQueue(device, links.rank(), links.nRanks());
        this.over = over;
    }

    Counters counters() {
        return counters;
    }

    Interpreter interpreter() {
        return interpreter;
    }

    Lanes lanes() {
        return lanes;
    }

    @Nullable DeviceQueue device() {
        return device;
    }

    /** Whether a collective that is added now begins at once. */
    boolean isFree() {
        return current == null && collectives.isEmpty();
    }

    /** Adds a task that was submitted. */
    void add(Task task) {
        if (task.operation.pointToPoint()) {
            lanes.add(task);
        } else {
            collectives.add(task);
        }
    }

    /**
     * Begins a collective of the host while the engine is free.
     *
     * @param tries how often to move it
     * @return whether it is done; then nobody else is told
     */
    boolean runNow(Task task, int tries) {
        current = task;
        interpreter.begin(task);
        for (int i = 0; i < tries; i++) {
            if (interpreter.advance()) {
                current = null;
                count(task);
                task.done();
                return true;
            }
        }
        return false;
    }

    /**
     * Moves everything that can move.
     *
     * @return whether anything moved
     */
    boolean progress() {
        boolean moved = links.anyNet() && links.progressNet();
        moved |= progressCollectives();
        if (lanes.size() > 0) {
            moved |= lanes.progress(finishPointToPoint);
        }
        if (device != null) {
            moved |= device.progress(delivered);
        }
        return moved;
    }

    private boolean progressCollectives() {
        boolean moved = false;
        while (true) {
            Task task = current;
            if (task == null) {
                task = collectives.peek();
                if (task == null || !task.arrived()) {
                    return moved;
                }
                collectives.remove();
                current = task;
                begin(task);
            }
            if (!exchanging && !interpreter.advance()) {
                return moved;
            }
            if (task.composed != null) {
                moved |= exchange(task.composed);
                if (exchanging) {
                    return moved;
                }
                task.composed.end();
            }
            moved = true;
            current = null;
            count(task);
            finish(task);
        }
    }

    private void begin(Task task) {
        if (task.composed != null) {
            task.composed.begin();
        }
        interpreter.begin(task);
    }

    /** Moves the sends and receives of the current collective; whether any moved. */
    private boolean exchange(Composed composed) {
        if (!exchanging) {
            exchanging = true;
            for (Task transfer : composed.transfers()) {
                transfer.call = interpreter.calls().number();
                exchange.add(transfer);
            }
        }
        boolean moved = exchange.size() > 0 && exchange.progress(transferred);
        exchanging = exchange.size() > 0;
        exchanged += moved ? 1 : 0;
        return moved;
    }

    private void transferred(Task transfer) {
        counters.transfer(transfer, links.peer(transfer.peer).isRemote());
    }

    private void count(Task task) {
        Plan plan = task.plan;
        if (plan != null) {
            counters.collective(task, plan, links.nRanks());
        }
    }

    private void finishPointToPoint(Task task) {
        boolean self = task.peer == links.rank();
        counters.pointToPoint(task, self, links.peer(task.peer).isRemote());
        if (task.composed != null) {
            task.composed.end();
        }
        finish(task);
    }

    private void finish(Task task) {
        StagingBlock staging = task.block;
        if (device == null || staging == null) {
            end(task);
        } else {
            device.deliver(task, staging);
        }
    }

    private void end(Task task) {
        task.done();
        over.accept(task);
    }

    /**
     * Drops everything.
     *
     * @param dropped gets each task that is not done
     */
    void clear(Consumer<Task> dropped) {
        interpreter.drop();
        Task running = current;
        current = null;
        exchanging = false;
        exchange.clear(transfer -> {});
        if (running != null) {
            drop(running, dropped);
        }
        collectives.forEach(task -> drop(task, dropped));
        collectives.clear();
        lanes.clear(task -> drop(task, dropped));
        if (device != null) {
            device.clear(task -> drop(task, dropped));
        }
    }

    private void drop(Task task, Consumer<Task> dropped) {
        release(task);
        dropped.accept(task);
    }

    /** Lets the stream of a task that will not be done go on. */
    void release(Task task) {
        if (device != null) {
            device.release(task);
        }
    }

    /** Frees what no thread uses any more. */
    void close() {
        interpreter.close();
        if (device != null) {
            device.close();
        }
    }

    /** The task that a waiter for {@code task} really waits for. */
    @Nullable Task blocking(Task task) {
        return task.operation.pointToPoint() ? lanes.first(task) : firstCollective();
    }

    /**
     * A task that waits for a peer, or else for its stream, for a thread that waits for all: in
     * turn another one, so that whoever comes first soon ends a sleep.
     */
    @Nullable Task anyBlocking() {
        turn++;
        Task first = firstCollective();
        boolean running = first != null && first.arrived();
        if (running && (lanes.size() == 0 || (turn & 1) == 0)) {
            return first;
        }
        Task other = lanes.any(turn >>> 1);
        return other != null && (other.arrived() || !running) ? other : first;
    }

    /**
     * The first collective and the first operation of each lane, what is not behind another, each
     * with a number that changes when it has moved.
     */
    void forEachFirst(ObjLongConsumer<Task> action) {
        Task first = firstCollective();
        if (first != null) {
            action.accept(first, position(first));
        }
        lanes.forEachFirst(action);
    }

    /** Whether nothing is under way but what is on its way to the device. */
    boolean idle() {
        return isFree() && lanes.size() == 0;
    }

    /**
     * An operation that cannot end without something more from rank {@code q}, after everything
     * that could move has moved; null if there is none. One whose own stream has not come to it
     * needs nobody yet.
     */
    @Nullable Task needing(int q) {
        CallWords calls = interpreter.calls();
        Task running = current;
        if (running != null && (exchanging ? exchange.needing(q) != null : needs(running, q))) {
            return running;
        }
        long number = calls.number();
        for (Task queued : collectives) {
            number++;
            if (!queued.arrived() || number > calls.number() + MOST_AHEAD) {
                break;
            }
            boolean receives = receivesIn(queued, number, q);
            Plan plan = queued.plan;
            if (receives || (plan != null && Remaining.neverEnds(links, calls, plan, number, q))) {
                return queued;
            }
        }
        return lanes.needing(q);
    }

    private boolean needs(Task running, int q) {
        return interpreter.needs(q) || receivesIn(running, interpreter.calls().number(), q);
    }

    /** Whether a collective receives something from a rank that has not come so far. */
    private boolean receivesIn(Task task, long number, int q) {
        Composed composed = task.composed;
        return composed != null
                && !interpreter.calls().reached(q, number)
                && composed.receivesFrom(q);
    }

    /** The number of a collective's call. */
    long numberOf(Task task) {
        long number = interpreter.calls().number();
        for (Task queued : collectives) {
            number++;
            if (queued == task) {
                return number;
            }
        }
        return interpreter.calls().number();
    }

    private @Nullable Task firstCollective() {
        return current != null ? current : collectives.peek();
    }

    /** A rank for which a task that cannot move waits; -1 if none is known. */
    int awaitedRank(Task task) {
        Lanes of = lanesOf(task);
        Task first = of == lanes ? task : of == exchange ? exchange.any(0) : null;
        return first == null ? interpreter.blocked().rank() : first.peer;
    }

    /** What must change before such a task moves. */
    Blocked blocked(Task task) {
        Lanes of = lanesOf(task);
        return of == null ? interpreter.blocked() : of.fifo().blocked();
    }

    /** A number that changes when a task that waits has moved. */
    long position(Task task) {
        Lanes of = lanesOf(task);
        return of == lanes ? task.moved : of == exchange ? exchanged : interpreter.position();
    }

    /** Where the sends and receives lie for which a task waits, null for a plan. */
    private @Nullable Lanes lanesOf(Task task) {
        if (task.operation.pointToPoint()) {
            return lanes;
        }
        return exchanging && task == current ? exchange : null;
    }

    /** Whether more than one lane has something under way. */
    boolean severalLanes() {
        boolean several = lanes.size() > 1 || (lanes.size() == 1 && current != null);
        return several || exchange.size() > 1;
    }
}
