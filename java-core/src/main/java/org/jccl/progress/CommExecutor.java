package org.jccl.progress;

import org.jccl.call.Call;
import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.executor.Counters;
import org.jccl.executor.Engine;
import org.jccl.executor.EngineProvider;
import org.jccl.executor.Inbox;
import org.jccl.executor.Task;
import org.jccl.log.Log;
import org.jccl.plan.Plan;
import org.jccl.transport.Links;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Progress of one communicator. Whoever holds the owner word moves everything that is under way:
 * the calling thread, another thread that waits, or a stream thread. No thread waits for a peer's
 * part of an operation while it holds the word.
 *
 * <p>Collectives run one after the other in the order in which they were submitted; sends and
 * receives run beside them, in order for each peer and direction.
 */
public final class CommExecutor {
    /** Bound on operations that are submitted and not complete. */
    public static final int MAX_PENDING = 1 << 16;

    /** From so many on those who give a stream more look what is over: its thread may be late. */
    private static final int CROWD = MAX_PENDING / 2;

    private static final long ROOM_NAP_NS = 100_000;
    private static final int MANY_CALLS = 64;
    private static final int FEW_CALLS = 2;

    /** How often the fast path tries before it lets other threads and operations in. */
    private static final int DIRECT_TRIES = 16;

    /** For the owner. */
    final Links links;

    final Engine engine;
    final Health health;

    /** The communicator's name in messages. */
    final String name;

    final boolean loneOnCores;

    /** Whether threads that help a rank find other cores than the one that it has. */
    final boolean helpersHaveCores;

    final Gate gate;
    final Lingering lingering = new Lingering();
    final Ear ear = new Ear(this);

    /** Tasks that callers have submitted and the owner has not yet taken. */
    private final Inbox inbox = new Inbox();

    /** How many tasks are submitted and not over; at most {@link #MAX_PENDING}. */
    private final AtomicLong pending = new AtomicLong();

    /** Whether the hosts have calls to tell each other; stream thread only. */
    private boolean behind;

    private final Tickets tickets = new Tickets();
    private final Task direct = new Task();

    /**
     * Whether {@link #direct} stands for a call that somebody waits for. Set by the owner
     * (volatile), cleared by the waiter once it has seen the end.
     */
    private volatile boolean directTaken;

    /** Why no operation can succeed any more; set once, by the owner (volatile). */
    private volatile @Nullable NcclException failure;

    /**
     * Why the owner is to give up as soon as possible; set by any thread (volatile). A thread that
     * an Error leaves without stack for a call writes the field itself.
     */
    volatile @Nullable NcclException stopRequest;

    /** Whether {@link #fail} has done everything; set by the owner (volatile). */
    private volatile boolean failed;

    /**
     * An executor over {@code links}.
     *
     * @param name the communicator's name in messages
     * @param device the device that owns the buffers, null for host memory
     * @param collectives what the ranks' devices do among themselves, null for nothing
     */
    public CommExecutor(
            Links links,
            String name,
            @Nullable Device device,
            @Nullable DeviceCollectives collectives) {
        this.links = links;
        this.name = name;
        this.gate = new Gate(links.nRanks());
        this.loneOnCores = links.loneOnCores();
        this.helpersHaveCores = loneOnCores && Crowd.CORES > 1;
        this.engine = EngineProvider.find(links, device, collectives, this::succeeded);
        this.health = new Health(this);
    }

    /** The counters. */
    public Counters counters() {
        return engine.counters();
    }

    /** Whether callers, and not their streams, wait for the end of operations. */
    public boolean callersWait() {
        return engine.callersWait();
    }

    /** Why no operation can succeed any more, or null. */
    public @Nullable NcclException failure() {
        return failure;
    }

    /** Whether operations are under way. */
    public boolean busy() {
        return pending.get() > 0;
    }

    /** Sets the time limit of operations, 0 for none. */
    public void timeLimitMs(long ms) {
        health.timeLimitMs = ms;
    }

    /**
     * How many operations are under way if none needs the host soon, else 0; for the stream thread.
     * The hosts tell each other each call in turn; if they have many to tell, they look until there
     * are few.
     */
    long onDeviceAlone() {
        long n = pending.get();
        behind = n >= MANY_CALLS || (behind && n > FEW_CALLS);
        return !behind && n == engine.launched() ? n : 0;
    }

    /** Whether exactly one operation is under way. */
    boolean oneUnderWay() {
        return pending.get() == 1;
    }

    /** Whether the owner has work: the gate is closed, or there are a stop request or new tasks. */
    boolean wanted() {
        return gate.closed() || (stopRequest != null && !failed) || !inbox.isEmpty();
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
                boolean free = engine.isFree(pending.get()) && !directTaken;
                if (free && failure == null && !gate.closed()) {
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
            // Written here, since even the call may overflow the stack.
            stopRequest = Unforeseen.TORN;
            throw torn(e);
        }
        directTaken = true;
        pending.getAndIncrement();
        return task;
    }

    /**
     * Hands a task over. {@link Submission#follow} continues it once the other tasks of its group
     * have been handed over.
     *
     * @return whether a thread has to look after it before it is continued
     * @throws NcclException if the communicator has failed or too many operations are under way
     */
    public boolean submit(Task task) {
        requireNoFailure();
        boolean inStream = usesStream(task);
        boolean visits = inStream && !engine.joinsBatch(task);
        if (visits && !gate.enter()) {
            throw ended();
        }
        boolean wakes;
        boolean counted = false;
        try {
            count(inStream);
            counted = true;
            wakes = engine.enqueue(task, inbox);
        } catch (RuntimeException | Error e) {
            if (counted) {
                pending.getAndDecrement();
            }
            if (visits) {
                gate.leave();
            }
            throw e;
        }
        if (wakes) {
            wakeSleepers();
        }
        if (failure != null || gate.closed()) {
            gate.own(this::drainInbox);
        }
        return visits && (wakes || !task.operation().pointToPoint());
    }

    private void requireNoFailure() {
        NcclException known = failure;
        if (known != null) {
            settle();
            throw ErrorKind.FAILED_BEFORE.says(
                    known,
                    "the communicator can only be destroyed or aborted: %s",
                    known.getMessage());
        }
    }

    private static NcclException ended() {
        return ErrorKind.ALREADY_ENDED.says("the communicator has been ended meanwhile");
    }

    /**
     * Counts one more operation. A stream takes {@link #MAX_PENDING} and keeps its caller waiting
     * then, as a stream of CUDA does: the device wakes nobody.
     *
     * @throws NcclException if there is no room on the host, or the communicator ends first
     */
    private void count(boolean waits) {
        if (waits && pending.get() >= CROWD) {
            tryProgress();
        }
        while (pending.incrementAndGet() > MAX_PENDING) {
            pending.getAndDecrement();
            if (!waits) {
                throw ErrorKind.TOO_MANY_PENDING.says(
                        "more than %s operations are under way on one communicator; wait for some",
                        MAX_PENDING);
            }
            if (failure != null || gate.closed()) {
                requireNoFailure();
                throw ended();
            }
            if (!tryProgress()) {
                LockSupport.parkNanos(this, ROOM_NAP_NS);
            }
        }
    }

    /**
     * Whether the task's stream waits for it; then its thread stays inside the gate until {@link
     * Submission#follow} is over. For several tasks that go together it is inside once.
     */
    boolean usesStream(Task task) {
        return !engine.callersWait() && !task.isOnHost();
    }

    /** The tickets of operations that were started. */
    public Tickets tickets() {
        return tickets;
    }

    /** Fails the communicator if a peer has given up or an awaited one is lost. */
    public void lookForLoss(int[] awaited) {
        gate.ifFree(() -> health.lookForLoss(awaited));
    }

    /** Looks at the peers of what is under way, and at its time limit. */
    void lookAtPeers() {
        gate.ifFree(() -> health.look(true));
    }

    /**
     * Moves everything that can move, and looks now and then at the peers' health; for the owner.
     *
     * @return whether anything moved
     */
    boolean progress() {
        failIfStopped();
        drainInbox();
        if (failure != null || gate.closed()) {
            // Tasks that came have been ended; no memory is touched.
            return false;
        }
        try {
            boolean moved = engine.progress();
            health.lookNowAndThen();
            return moved;
        } catch (RuntimeException | Error e) {
            torn(e);
            return true;
        }
    }

    /** Fails the communicator if {@link #requestStop} has asked for that; for the owner. */
    void failIfStopped() {
        NcclException stop = stopRequest;
        if (stop != null && !failed) {
            fail(stop, links.rank());
        }
    }

    /** Ends tasks submitted while the gate was being closed; for the closer, after its release. */
    void drainLate() {
        VarHandle.fullFence();
        while (!inbox.isEmpty() && gate.own(this::drainInbox)) {
            VarHandle.fullFence();
        }
    }

    private void drainInbox() {
        for (Task task = inbox.poll(); task != null; task = inbox.poll()) {
            if (failure == null) {
                add(task);
            } else {
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
                // The task may be in no queue, so that nobody else would end it.
                if (!task.over()) {
                    end(task, failure == null ? Unforeseen.TORN : failure);
                }
            }
        }
    }

    private NcclException torn(Throwable t) {
        // First: if the rest overflows the stack as well, the next owner ends everything.
        stopRequest = Unforeseen.TORN;
        NcclException why = Unforeseen.of(t, "in an operation");
        fail(why, -1);
        return why;
    }

    private void succeeded(Task task) {
        task.done();
        pending.getAndDecrement();
    }

    /** Ends a task that failed, and lets its stream go on. */
    private void end(Task task, NcclException why) {
        engine.release(task);
        task.fail(why);
        pending.getAndDecrement();
    }

    /** The waiter has seen the end of {@code task} and does not look at it any more. */
    public void seen(Task task) {
        if (task == direct) {
            directTaken = false;
        }
    }

    /**
     * Ends every operation with this failure and tells the other ranks; for the owner. If an Error
     * interrupts it, the next owner goes on.
     */
    void fail(NcclException why, int culprit) {
        if (failed || gate.closed()) {
            return;
        }
        if (stopRequest == null) {
            stopRequest = why;
        }
        NcclException first = failure == null ? why : failure;
        try {
            Notice.giveUp(links, first, culprit);
        } finally {
            endAll(first);
        }
        Notice.send(links);
        failed = true;
        log(first);
    }

    /** Logs the failure. It stands and is known all the same if even that is too much. */
    private static void log(NcclException why) {
        try {
            Log.warn(why);
        } catch (RuntimeException | Error unsaid) {
            // There is no stack or memory to log it.
        }
    }

    /** Completes a {@link #fail} that an Error has interrupted, if there is one. */
    public void settle() {
        if (!failed && stopRequest != null) {
            gate.ifFree(this::failIfStopped);
        }
    }

    /** Ends every operation. Its buffers are its caller's once it is over or the failure shows. */
    private void endAll(NcclException why) {
        if (!engine.isFree(pending.get()) || busy()) {
            links.rescue();
        }
        if (failure == null) {
            failure = why;
        }
        engine.clear(task -> drop(task, why));
        drainInbox();
    }

    /** Ends a task; a direct call that nobody waits for yet throws the failure itself. */
    private void drop(Task task, NcclException why) {
        if (task != direct || directTaken) {
            end(task, why);
        }
    }

    /** Moves what can move without waiting and returns whether the task is over. */
    public boolean look(Task task) {
        if (!task.over()) {
            tryProgress();
        }
        return task.over();
    }

    /** Asks the present or next owner to end everything with this failure. */
    public void requestStop(NcclException why) {
        if (stopRequest == null) {
            stopRequest = why;
        }
        wakeSleepers();
        tryProgress();
    }

    /** Moves everything that can move unless there is an owner; returns whether anything moved. */
    boolean tryProgress() {
        if (!gate.tryOwn()) {
            return false;
        }
        try {
            return progress();
        } finally {
            gate.release();
        }
    }

    /** Wakes sleeping threads of this process, one of which may have to do the owner's work. */
    void wakeSleepers() {
        if (gate.anySleeper() && gate.enter()) {
            try {
                gate.forEachSleptOn(links::wakeSleepersOn);
            } finally {
                gate.leave();
            }
        }
    }

    /**
     * Whether rank {@code q} has begun the call that is {@code ahead} calls after this rank's last.
     */
    public boolean hasComeTo(int q, int ahead) {
        return gate.visit(() -> engine.hasComeTo(q, ahead));
    }

    /** Ends what is under way and closes the gate; for the owner. */
    void forbid(NcclException why) {
        endAll(why);
        gate.close();
    }
}
