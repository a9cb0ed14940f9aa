package org.jccl.executor;

import org.jccl.call.Call;
import org.jccl.call.Composed;
import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * Runs operations on host memory. Collectives run one after the other in the order in which they
 * were added, also those that consist of sends and receives; the callers' own sends and receives
 * run beside them, in order for each peer and direction. An operation begins when its data has
 * arrived, which on the host it always has.
 */
class HostEngine implements Engine {
    /** No rank can have done anything yet in a call that is so far ahead of this rank's. */
    private static final int MOST_AHEAD = CallWords.MOST_AHEAD + 2;

    final Links links;
    private final Interpreter interpreter;
    final Lanes lanes;

    /** Sends and receives of the current collective. */
    private final Lanes exchange;

    final Counters counters;
    final Consumer<Task> finished;
    private final Consumer<Task> finishPointToPoint = this::finishPointToPoint;
    private final Consumer<Task> transferred;
    private final ArrayDeque<Task> collectives = new ArrayDeque<>();
    private @Nullable Task current;

    /** Whether the plan of {@link #current} is done and its sends and receives are under way. */
    private boolean exchanging;

    /** Counts how often any of these sends and receives moved. */
    private long exchanged;

    private int turn;

    /**
     * An engine over {@code links}.
     *
     * @param finished gets each task that was added, when all its data is there
     */
    HostEngine(Links links, Consumer<Task> finished) {
        this.links = links;
        this.interpreter = new Interpreter(links);
        this.lanes = new Lanes(links, Area.FIFO);
        this.exchange = new Lanes(links, Area.EXCHANGE);
        this.counters = new Counters(links);
        this.transferred = counters::transfer;
        this.finished = finished;
    }

    @Override
    public Counters counters() {
        return counters;
    }

    @Override
    public boolean hasComeTo(int q, int ahead) {
        CallWords calls = interpreter.calls;
        Task running = current;
        boolean known = running == null || !running.operation().rooted() || calls.concerns(q);
        return !known || calls.reached(q, calls.number() + ahead);
    }

    /** Whether rank {@code q} has published the call of a collective, or a later one. */
    final boolean hasCome(int q, Task task) {
        return interpreter.calls.reached(q, task.call);
    }

    @Override
    public void tellAll() {
        interpreter.tellAll();
    }

    @Override
    public void requireSameCall() {
        interpreter.checkPeers();
    }

    @Override
    public boolean callersWait() {
        return true;
    }

    @Override
    public boolean isFree(long submitted) {
        boolean arrived = submitted == 0 || submitted == lanes.size();
        return current == null && collectives.isEmpty() && arrived;
    }

    @Override
    public void add(Task task) {
        if (task.operation().pointToPoint()) {
            lanes.add(task);
        } else {
            collectives.add(task);
            task.call = interpreter.calls.number() + collectives.size();
        }
    }

    @Override
    public boolean runNow(Task task, int tries) {
        current = task;
        interpreter.begin(task);
        int tried = 0;
        do {
            if (interpreter.advance()) {
                current = null;
                counters.collective(task);
                task.done();
                return true;
            }
            tried++;
        } while (tried < tries && !interpreter.paused());
        task.call = interpreter.calls.number();
        return false;
    }

    @Override
    public boolean progress() {
        boolean oneIsAwaited = current != null && !exchanging && lanes.size() == 0;
        boolean moved = links.anyNet() && links.progressNet(!oneIsAwaited || links.sending());
        moved |= progressCollectives();
        if (lanes.size() > 0) {
            moved |= lanes.progress(finishPointToPoint);
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
                return moved || interpreter.paused();
            }
            Composed composed = task.composed();
            if (composed != null) {
                moved |= exchange(composed);
                if (exchanging) {
                    return moved;
                }
                composed.end();
            }
            moved = true;
            current = null;
            counters.collective(task);
            finish(task);
        }
    }

    private void begin(Task task) {
        Composed composed = task.composed();
        if (composed != null) {
            composed.begin();
        }
        interpreter.begin(task);
    }

    /** Moves the sends and receives of the current collective; returns whether any moved. */
    private boolean exchange(Composed composed) {
        if (!exchanging) {
            exchanging = true;
            for (Call transfer : composed.transfers()) {
                Task task = new Task().of(transfer, null);
                task.call = interpreter.calls.number();
                exchange.add(task);
            }
        }
        boolean moved = exchange.size() > 0 && exchange.progress(transferred);
        exchanging = exchange.size() > 0;
        exchanged += moved ? 1 : 0;
        return moved;
    }

    /** All data of the task is there. */
    void finish(Task task) {
        finished.accept(task);
    }

    private void finishPointToPoint(Task task) {
        counters.pointToPoint(task);
        Composed composed = task.composed();
        if (composed != null) {
            composed.end();
        }
        finish(task);
    }

    @Override
    public void clear(Consumer<Task> dropped) {
        Task running = current;
        current = null;
        exchanging = false;
        exchange.clear(transfer -> {});
        if (running != null) {
            dropped.accept(running);
        }
        collectives.forEach(dropped);
        collectives.clear();
        lanes.clear(dropped);
    }

    @Override
    public void close() {
        interpreter.close();
    }

    @Override
    public boolean idle() {
        return isFree(0) && lanes.size() == 0;
    }

    @Override
    public @Nullable Blocked blocked(@Nullable Task task) {
        if (task != null && task.operation().pointToPoint()) {
            return lanes.blocked(task);
        }
        Blocked other = task == null ? anyLane() : null;
        if (other != null) {
            return other;
        }
        if (current != null && !exchanging) {
            interpreter.awaitAnother();
        }
        return collective();
    }

    /**
     * What any send or receive waits for, a different one each time, so that the first peer that
     * comes soon ends a sleep; null if it is the turn of the first collective. Operations to which
     * their own streams have not come have no turn while there are others.
     */
    private @Nullable Blocked anyLane() {
        turn++;
        Task first = firstCollective();
        boolean running = first != null && first.arrived();
        Blocked other = running && (turn & 1) == 0 ? null : lanes.any(turn >>> 1);
        return other != null && (other.task().arrived() || !running) ? other : null;
    }

    private @Nullable Task firstCollective() {
        return current != null ? current : collectives.peek();
    }

    /** What the first collective waits for, or one of its transfers if it consists of these. */
    private @Nullable Blocked collective() {
        Task first = firstCollective();
        if (first == null) {
            return null;
        }
        Blocked blocked = interpreter.blocked.of(first);
        if (exchanging) {
            Blocked transfer = exchange.any(turn >>> 1);
            if (transfer != null) {
                blocked.on(transfer.task().peer(), transfer.address(), transfer.value());
            }
        } else if (first != current) {
            blocked.unknown();
        }
        return blocked;
    }

    @Override
    public void forEachBlocked(ObjLongConsumer<Blocked> action) {
        Blocked first = collective();
        if (first != null) {
            action.accept(first, exchanging ? exchanged : interpreter.position());
        }
        lanes.forEachBlocked(action);
    }

    @Override
    public @Nullable Task needing(int q) {
        Task running = current;
        if (running != null && needs(running, q)) {
            return running;
        }
        CallWords calls = interpreter.calls;
        for (Task queued : collectives) {
            if (!queued.arrived() || queued.call > calls.number() + MOST_AHEAD) {
                break;
            }
            Remaining all = new Remaining(links, calls, queued.plan(), Remaining.NOT_BEGUN);
            if (receives(queued, q) || all.neverEnds(queued.call, q)) {
                return queued;
            }
        }
        return lanes.needing(q);
    }

    private boolean needs(Task running, int q) {
        return exchanging
                ? exchange.needing(q) != null
                : interpreter.needs(q) || receives(running, q);
    }

    /** Whether a collective receives something from a rank that has not come to it. */
    private boolean receives(Task task, int q) {
        Composed composed = task.composed();
        return composed != null
                && !interpreter.calls.reached(q, task.call)
                && composed.receivesFrom(q);
    }

    @Override
    public boolean severalLanes() {
        boolean several = lanes.size() > 1 || (lanes.size() == 1 && current != null);
        return several || exchange.size() > 1;
    }
}
