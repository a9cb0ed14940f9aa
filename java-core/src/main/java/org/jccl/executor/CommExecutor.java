package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.transport.Links;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.lang.invoke.VarHandle;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Progress of one communicator. Whoever holds the owner word moves everything that is under way:
 * the calling thread, another that waits, or a stream thread. Nobody waits for a peer's part of an
 * operation while holding it.
 *
 * <p>Collectives run one after the other in the order in which they were submitted; sends and
 * receives run beside them, in order for each peer and direction.
 */
public final class CommExecutor {
    /** Bound of operations that have been submitted and are not complete. */
    public static final int MAX_PENDING = 1 << 16;

    /** How often the fast path tries before it lets other threads and operations in. */
    private static final int DIRECT_TRIES = 16;

    private final Links links;
    private final Engine engine;
    private final Health health;
    private final boolean loneOnCores;
    private final Gate gate;

    /** Submitted by threads that found the communicator owned; drained by the owner. */
    private final ConcurrentLinkedQueue<Task> inbox = new ConcurrentLinkedQueue<>();

    /** Submitted and not over; bound of {@link #MAX_PENDING}. */
    private final AtomicLong pending = new AtomicLong();

    private final Tickets tickets = new Tickets();
    final Lingering lingering = new Lingering();

    private final Task direct = new Task();

    /**
     * Whether {@link #direct} stands for a call that somebody waits for. Set by the owner
     * (volatile), cleared by the waiter once it has seen the end.
     */
    private volatile boolean directTaken;

    /** Set once by the owner (volatile), with the reason for which no operation can succeed. */
    private volatile @Nullable NcclException failure;

    /**
     * Set by anybody (volatile): give up as soon as possible. A field for those whom an Error has
     * left no stack for a call.
     */
    volatile @Nullable NcclException stopRequest;

    /** For the owner: {@link #fail} is at work. */
    private boolean failing;

    /** Set by the owner (volatile): what {@link #fail} does has been done. */
    private volatile boolean failed;

    /**
     * An executor over {@code links}, which it closes.
     *
     * @param loneOnCores whether each rank of this node has a core, so that polling makes sense
     * @param device what the buffers belong to, null for the host
     */
    public CommExecutor(Links links, Health health, boolean loneOnCores, @Nullable Device device) {
        this.links = links;
        this.gate = new Gate(links.nRanks());
        this.loneOnCores = loneOnCores;
        this.engine = new Engine(links, device, this::over);
        this.health = health;
    }

    /** The counters. */
    public Counters counters() {
        return engine.counters();
    }

    /** The links; for the owner. */
    Links links() {
        return links;
    }

    Engine engine() {
        return engine;
    }

    Interpreter interpreter() {
        return engine.interpreter();
    }

    /** Whether calls return once their operation is in its stream, and the device does the rest. */
    public boolean onDevice() {
        return engine.device() != null;
    }

    /** Why no operation can succeed any more, or null. */
    public @Nullable NcclException failure() {
        return failure;
    }

    /** Whether operations are under way. */
    public boolean busy() {
        return pending.get() > 0;
    }

    Gate gate() {
        return gate;
    }

    /** The communicator's health. */
    public Health health() {
        return health;
    }

    boolean loneOnCores() {
        return loneOnCores;
    }

    /** Whether one operation is under way, and no other. */
    boolean oneUnderWay() {
        return pending.get() == 1;
    }

    /** Whether the communicator is gone. */
    public boolean closed() {
        return gate.closed();
    }

    /** Whether somebody wants the owner to look. */
    boolean wanted() {
        return gate.closed() || (stopRequest != null && !failed) || !inbox.isEmpty();
    }

    void stopWaiting() {
        if (gate.stopWaiting() && busy()) {
            StreamAgent.recall(this);
        }
    }

    /**
     * Runs a collective in the calling thread as far as possible. When nothing else is under way
     * this is the whole fast path: no object is made and no clock is read.
     *
     * @return null if it is complete, else the task to wait for
     * @throws NcclException if the communicator has failed or this call fails at once
     */
    public @Nullable Task collective(Call call, Plan plan) {
        if (gate.tryOwn()) {
            try {
                if (engine.isFree()
                        && inbox.isEmpty()
                        && !directTaken
                        && failure == null
                        && !gate.closed()) {
                    return runDirect(direct.of(call, plan));
                }
            } finally {
                gate.release();
            }
        }
        Task task = new Task().of(call, plan);
        submit(task);
        return task;
    }

    private @Nullable Task runDirect(Task task) {
        try {
            if (engine.runNow(task, loneOnCores ? DIRECT_TRIES : 1)) {
                return null;
            }
        } catch (RuntimeException | Error e) {
            // If the rest overflows as well, the next owner goes on with it: nothing of this task.
            stopRequest = Failures.TORN;
            NcclException why = Failures.of(e);
            fail(why, -1);
            throw why;
        }
        directTaken = true;
        pending.getAndIncrement();
        return task;
    }

    /**
     * Hands a task over; the caller then waits for it or leaves it to a stream thread. On a device
     * {@link #awaitInStream} must follow, after the other tasks of a group.
     *
     * @throws NcclException if the communicator has failed or too much is under way
     */
    public void submit(Task task) {
        NcclException known = failure;
        if (known != null) {
            settle();
            throw Failures.refused(known);
        }
        if (pending.incrementAndGet() > MAX_PENDING) {
            pending.getAndDecrement();
            throw Failures.tooMany(MAX_PENDING);
        }
        put(task);
        health.wakeSleepers(this);
        if ((failure != null || gate.closed()) && gate.tryOwn()) {
            try {
                drainInbox();
            } finally {
                gate.release();
            }
        }
    }

    private void put(Task task) {
        DeviceQueue device = engine.device();
        boolean put = false;
        try {
            if (device == null || task.hostData) {
                inbox.add(task);
            } else {
                device.stage(gate, task, inbox);
            }
            put = true;
        } finally {
            if (!put) {
                pending.getAndDecrement();
            }
        }
    }

    /**
     * The stream of a task that was submitted goes on when the task is over; a stream thread sees
     * to that.
     *
     * @throws NcclException if the device refuses
     */
    public void awaitInStream(Task task) {
        DeviceQueue device = engine.device();
        if (device == null) {
            return;
        }
        try {
            device.awaitInStream(task);
        } catch (NcclException refused) {
            // The stream does not wait, so that the operation must not go on.
            requestStop(refused);
            throw refused;
        } finally {
            gate.leave();
            StreamAgent.attend(this);
        }
    }

    /**
     * Submits a task, lends the thread to it and leaves the rest to a stream thread.
     *
     * @param ms for how long at most; 0 as of {@link Waiter#accompany}
     * @return 0 if it is complete, else its ticket
     * @throws NcclException if it failed at once
     */
    public long start(Task task, int ms) {
        long ticket = tickets.give(task);
        try {
            submit(task);
            awaitInStream(task);
        } catch (NcclException e) {
            tickets.forget(ticket);
            throw e;
        }
        if (!Waiter.accompany(this, task, ms)) {
            return ticket;
        }
        tickets.forget(ticket);
        NcclException failed = task.failure();
        if (failed != null) {
            throw failed;
        }
        return 0;
    }

    /** The tickets of operations that were started. */
    public Tickets tickets() {
        return tickets;
    }

    /**
     * Looks for peers that gave up, and awaited ones that are lost; then {@link #failure} is set.
     */
    public void lookForLoss(int[] awaited) {
        gate.ifFree(
                () -> {
                    if (!gate.closed() && failure == null) {
                        health.lookForLoss(this, awaited);
                    }
                });
    }

    /** The same for the peers of what is under way, and for its time limit. */
    void lookAtPeers() {
        gate.ifFree(() -> health.look(this, true));
    }

    /**
     * Moves everything that can move, and looks now and then at the peers' health; for the owner.
     *
     * @return whether anything moved
     */
    boolean progress() {
        if (gate.closed()) {
            // What was submitted meanwhile; has a failure, so that no memory is touched.
            drainInbox();
            return false;
        }
        failIfStopped();
        drainInbox();
        if (failure != null) {
            return false;
        }
        try {
            boolean moved = engine.progress();
            health.lookNowAndThen(this);
            return moved;
        } catch (RuntimeException | Error e) {
            torn(e);
            return true;
        }
    }

    /** Does what somebody has asked for with {@link #requestStop}; for the owner. */
    void failIfStopped() {
        NcclException stop = stopRequest;
        if (stop != null && !failed) {
            fail(stop, links.rank());
        }
    }

    /** Ends what was submitted while the gate was closed; after the closer has released it. */
    void drainLate() {
        VarHandle.fullFence();
        while (!inbox.isEmpty() && gate.tryOwn()) {
            try {
                drainInbox();
            } finally {
                gate.release();
            }
            VarHandle.fullFence();
        }
    }

    private void drainInbox() {
        for (Task task = inbox.poll(); task != null; task = inbox.poll()) {
            if (failure == null) {
                add(task);
            } else {
                engine.release(task);
                end(task, failure);
            }
        }
    }

    private void add(Task task) {
        try {
            engine.add(task);
        } catch (RuntimeException | Error e) {
            try {
                torn(e);
            } finally {
                // It may be in no queue, where nobody would end it.
                if (!task.over()) {
                    engine.release(task);
                    end(task, failure == null ? Failures.TORN : failure);
                }
            }
        }
    }

    private void torn(Throwable t) {
        stopRequest = Failures.TORN;
        fail(Failures.of(t), -1);
    }

    private void over(Task task) {
        pending.getAndDecrement();
        long ticket = task.ticket();
        if (ticket != 0 && task.state() == Task.DONE) {
            tickets.forget(ticket);
        }
        if (task.isStarted()) {
            Completions.add();
        }
    }

    private void end(Task task, NcclException why) {
        task.fail(why);
        over(task);
    }

    /** The waiter has seen the end of {@code task} and does not look at it any more. */
    public void seen(Task task) {
        if (task == direct) {
            directTaken = false;
        }
    }

    /**
     * Ends every operation with this failure and tells the other ranks; for the owner. If an Error
     * throws it out of that, the next owner goes on.
     */
    void fail(NcclException why, int culprit) {
        if (failed || failing || gate.closed()) {
            return;
        }
        failing = true;
        try {
            if (stopRequest == null) {
                stopRequest = why;
            }
            NcclException first = failure == null ? why : failure;
            endAll(first);
            Parting.announce(this, first, culprit);
            failed = true;
            Failures.log(first);
        } finally {
            failing = false;
        }
    }

    /** Goes on with a failure that an Error has interrupted, if there is one. */
    public void settle() {
        if (!failed && stopRequest != null) {
            gate.ifFree(this::failIfStopped);
        }
    }

    /** Buffers are the callers' once the failure shows or their task is over. */
    private void endAll(NcclException why) {
        if (!engine.isFree() || busy()) {
            links.rescue();
        }
        if (failure == null) {
            failure = why;
        }
        engine.clear(task -> drop(task, why));
        drainInbox();
    }

    /** A call that has not come so far that somebody waits for it throws by itself. */
    private void drop(Task task, NcclException why) {
        if (task != direct || directTaken) {
            end(task, why);
        }
    }

    /** Asks whoever owns, or will own, the communicator to end everything with this failure. */
    public void requestStop(NcclException why) {
        if (stopRequest == null) {
            stopRequest = why;
        }
        health.wakeSleepers(this);
        if (gate.tryOwn()) {
            try {
                progress();
            } finally {
                gate.release();
            }
        }
    }

    /** As {@link #requestStop}, and waits until it has taken effect, which is short. */
    public void stop(NcclException why) {
        requestStop(why);
        Waiter.awaitStop(this);
    }

    /** The user interrupted a thread that waits here: buffers are the caller's on return. */
    public void interrupt() {
        stop(Failures.interrupted(links.rank()));
    }

    /**
     * Frees everything, once no thread is inside. The caller has made sure that nothing is under
     * way or wanted any more.
     *
     * @param goodbye published for the other ranks
     */
    public void close(NcclException goodbye) {
        health.shut(this, goodbye);
    }

    /** Ends what is under way and forbids everything; for the owner. */
    void forbid(NcclException why) {
        endAll(why);
        gate.close();
    }
}
