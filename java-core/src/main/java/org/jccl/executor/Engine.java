package org.jccl.executor;

import org.jccl.call.Call;
import org.jspecify.annotations.Nullable;

import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * Runs the operations of one communicator: it takes those that were submitted, moves them, says
 * what they wait for, and drops them. One engine is for host memory; that of a device comes from an
 * {@link EngineProvider}, or else stages the data in host memory. What has a body here is so on the
 * host, where there are no streams and nothing that could fail.
 *
 * <p>Only the owner of the communicator uses it, except for the methods that say otherwise.
 */
public interface Engine {
    // What a caller's thread does, inside the gate.

    /**
     * A task for a call of which its caller hears nothing more if the call's stream waits for it;
     * any thread.
     */
    default Task task(Call call) {
        return new Task();
    }

    /**
     * Adds a task to the queue that the owner drains, in the order of the task's stream, at the
     * latest when the task is continued; any thread.
     *
     * @return whether the owner has to hear of it soon
     * @throws org.jccl.type.NcclException if it is refused; then it is in no queue
     */
    default boolean enqueue(Task task, Inbox queue) {
        return queue.add(task);
    }

    /**
     * Whether a task that the calling thread is about to hand over goes with others that it has
     * handed over and not continued. The thread need not be inside the gate.
     */
    default boolean joinsBatch(Task task) {
        return false;
    }

    /**
     * Whether a task that the calling thread is about to continue went with another one, which it
     * has continued. The thread need not be inside the gate.
     */
    default boolean wentWithBatch(Task task) {
        return false;
    }

    /**
     * Continues a task that was handed over, after the others of its group; any thread.
     *
     * @return whether the task's stream waits for it from now on, so that its caller need not
     * @throws org.jccl.type.NcclException if the stream refuses the wait
     */
    default boolean follow(Task task) {
        return false;
    }

    /** Whether callers, and not their streams, wait for the end of operations; any thread. */
    boolean callersWait();

    // What the owner does.

    /** Takes a task that was handed over. */
    void add(Task task);

    /**
     * Whether no collective is under way, nor on its way here.
     *
     * @param submitted how many operations were handed over and are not over
     */
    boolean isFree(long submitted);

    /**
     * Begins a collective at once, if it {@link #isFree}.
     *
     * @param tries how often to move it
     * @return whether it is done; then nobody else is told
     */
    boolean runNow(Task task, int tries);

    /**
     * Moves everything that can move.
     *
     * @return whether anything moved
     */
    boolean progress();

    /**
     * Drops everything.
     *
     * @param dropped gets each task that is not done, and {@link #release}s it
     */
    void clear(Consumer<Task> dropped);

    /** Lets the stream of a task that will not be done go on. */
    default void release(Task task) {}

    /** Frees what no thread uses any more. */
    void close();

    // What is under way.

    /** Whether nothing is under way that may need a rank. */
    boolean idle();

    /**
     * What must happen before a task goes on: what it waits for itself, or what the operation ahead
     * of it waits for.
     *
     * @param task null for any task under way, a different one at each call
     * @return null if nothing is awaited
     */
    @Nullable Blocked blocked(@Nullable Task task);

    /**
     * Passes on what each operation that is not behind another waits for, with a number that
     * changes when the operation moves.
     */
    void forEachBlocked(ObjLongConsumer<Blocked> action);

    /**
     * How many operations that are under way need nothing of the host: their devices run them; any
     * thread.
     */
    default int launched() {
        return 0;
    }

    /** Whether more than one lane has something under way. */
    boolean severalLanes();

    /**
     * An operation that cannot end without something more from rank {@code q}, after everything
     * that could move has moved; null if there is none.
     */
    @Nullable Task needing(int q);

    /**
     * How long a thread may sleep while it waits.
     *
     * @return 0 where peers wake it
     */
    default long longestNapNs() {
        return 0;
    }

    /**
     * Checks that what the operations run on has no fault.
     *
     * @throws org.jccl.type.NcclException if it has one
     */
    default void requireSound() {}

    /**
     * Whether rank {@code q} has published the collective call that is {@code ahead} calls after
     * this rank's last, or a later one. Of a rooted operation that a rank may finish before others
     * begin, only the ranks that it concerns here are known; the others count as come.
     */
    boolean hasComeTo(int q, int ahead);

    /** Tells the last call to the ranks that it does not concern. */
    void tellAll();

    /**
     * Compares the last call with those of the others.
     *
     * @throws org.jccl.type.NcclException if a rank has called something else
     */
    void requireSameCall();

    /** The counters. */
    Counters counters();
}
