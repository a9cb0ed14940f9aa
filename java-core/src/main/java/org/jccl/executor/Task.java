package org.jccl.executor;

import org.jccl.call.Call;
import org.jccl.plan.Plan;
import org.jccl.transport.CallRecord;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/** One operation on its way: what the caller asked for, and how far it has come. */
public final class Task extends Call {
    private static final AtomicReferenceFieldUpdater<Task, Listener> LISTENERS =
            AtomicReferenceFieldUpdater.newUpdater(Task.class, Listener.class, "listeners");

    private record Listener(Runnable action, @Nullable Listener before) {}

    /** Keeps an object by being there. */
    private record Kept(Object object) implements Runnable {
        @Override
        public void run() {}
    }

    /** The end of each list of listeners. */
    private static final Listener NOBODY = new Listener(() -> {}, null);

    /** The bytes of a send or receive that its lane moves: none if the device does so. */
    long bytes;

    /** The call packed into a word; ranks compare a hash of it. */
    long description;

    private @Nullable Plan plan;

    /** Where its data is staged, or how far its device has come; set before it is submitted. */
    private @Nullable StagingBlock block;

    /** The use of the block that it is. */
    private long use;

    /**
     * Number of the collective that this is, or a part of; 0 for the callers' own sends and
     * receives. Set when the owner adds it, since a call that is over at once needs none.
     */
    long call;

    /** Bytes of a send or receive that have been moved; owner of the communicator only. */
    long moved;

    /** How many chunks of its lane have passed when the lane is done with it; owner only. */
    long passed;

    /** Whether a wait for it has slept. Written and read by threads that wait (plain). */
    private boolean slept;

    /** How many calls it has stood for, this one included. */
    private int calls;

    /**
     * Whether its device does everything; set when it is handed over. One that serves again is
     * always run by the device, so a thread that looks late sees the same.
     */
    boolean runsOnDevice;

    /** Where it goes when it is over, if nobody looks at it then; else null. */
    @Nullable TaskPool pool;

    /** The next task of a list that it is in. */
    @Nullable Task link;

    /** Written by the owner of the communicator (volatile), read by anybody who waits. */
    private volatile boolean over = true;

    /** What is to run at the end, the newest first; any thread (compare and set). */
    private volatile Listener listeners = NOBODY;

    /** Why it failed; written before it is over. */
    private @Nullable NcclException failure;

    /**
     * Makes the object stand for a checked call.
     *
     * @param compiled null for a send or receive
     */
    public Task of(Call call, @Nullable Plan compiled) {
        take(call);
        plan = compiled;
        bytes = compiled == null ? partBytes() : 0;
        int way = exchanges() ? CallRecord.EXCHANGE : redOp();
        way = factor() == null ? way : CallRecord.PRE_MUL_SUM;
        description = CallRecord.describe(operationNumber(), typeNumber(), way, peer());
        moved = 0;
        slept = false;
        calls++;
        failure = null;
        over = false;
        return this;
    }

    /** A number that tells this call from others that the object stands for. */
    int calls() {
        return calls;
    }

    /** What a collective does. */
    Plan plan() {
        return Objects.requireNonNull(plan);
    }

    /** Its device tells by this block, in this use of it, how far it has come. */
    void told(StagingBlock by, long inUse) {
        block = by;
        use = inUse;
    }

    /** Where its data is staged, or how far its device has come; null on the host. */
    @Nullable StagingBlock block() {
        return block;
    }

    /** Whether its input is there; on the host, always. */
    public boolean arrived() {
        return block == null || block.has(StagingBlock.ARRIVED, use);
    }

    /** Whether its stream has gone on, with the result where the caller wants it. */
    boolean delivered() {
        return block == null || block.has(StagingBlock.PASSED, use);
    }

    /**
     * Whether its buffers are in host memory whatever the communicator is on: those of a split are
     * the library's own.
     */
    public boolean isOnHost() {
        return redOp() == CallRecord.SPLIT;
    }

    /** Whether a wait for it has slept. */
    public boolean hasSlept() {
        return slept;
    }

    /** A wait for it sleeps. */
    public void sleeps() {
        slept = true;
    }

    /** The operation in words. */
    public String text() {
        if (!arrived()) {
            return "nccl" + operation().ncclName() + " of " + count() + " elements";
        }
        return operation().pointToPoint()
                ? CallRecord.pointToPointText(description, count())
                : CallRecord.text(call, description, count());
    }

    /** Whether it is over, well or not. */
    public boolean over() {
        return over;
    }

    /** Why it failed; null if it is over and went well. */
    public @Nullable NcclException failure() {
        return failure;
    }

    /**
     * Runs an action at the end, or now if that has come. It must be short: the thread that ends
     * the task runs it.
     */
    public void whenOver(Runnable action) {
        Listener first;
        do {
            first = listeners;
        } while (!LISTENERS.compareAndSet(this, first, new Listener(action, first)));
        if (over()) {
            tell();
        }
    }

    /** As {@link #whenOver}, unless an equal action is to run already. */
    public void whenOverOnce(Runnable action) {
        for (Listener each = listeners; each != null; each = each.before) {
            if (each.action.equals(action)) {
                return;
            }
        }
        whenOver(action);
    }

    /** Keeps an object from the garbage collector until the end. */
    public void keep(Object object) {
        whenOver(new Kept(object));
    }

    private void tell() {
        if (listeners.before != null) {
            Listener next = LISTENERS.getAndSet(this, NOBODY);
            for (; next != null; next = next.before) {
                next.action.run();
            }
        }
    }

    /** Ends it; well, unless it is {@link #fail} that does so. */
    public void done() {
        over = true;
        tell();
    }

    /** Ends it with a failure. */
    public void fail(NcclException why) {
        failure = why;
        done();
    }
}
