package org.jccl.executor;

import org.jspecify.annotations.Nullable;

import java.util.Queue;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * What runs the operations of one communicator: takes those that were submitted, moves them, says
 * what they wait for, and drops them. There is one for host memory; one for a device's comes from
 * an {@link EngineProvider}, or else stages the data in host memory.
 *
 * <p>But for the methods that say otherwise it is used by the owner of the communicator only.
 */
public interface Engine {
    // What a caller's thread does, inside the gate.

    /**
     * Hands a task over by adding it to the queue that the owner drains; any thread, and in the
     * order of the task's stream.
     *
     * @throws org.jccl.type.NcclException if it is refused; then it is in no queue
     */
    void enqueue(Task task, Queue<Task> queue);

    /**
     * Goes on with a task that was handed over, after the others of its group; any thread.
     *
     * @return whether the task's stream waits for it from now on, so that its caller need not
     * @throws org.jccl.type.NcclException if the stream does not take that
     */
    boolean follow(Task task);

    /** Whether callers, and not their streams, wait for the end of operations; any thread. */
    boolean callersWait();

    // What the owner does.

    /** Takes a task that was handed over. */
    void add(Task task);

    /** Whether {@link #runNow} may be called. */
    boolean isFree();

    /**
     * Begins a collective at once.
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
     * @param dropped gets each task that is not done
     */
    void clear(Consumer<Task> dropped);

    /** Lets the stream of a task that will not be done go on. */
    void release(Task task);

    /** Frees what no thread uses any more. */
    void close();

    // What is under way.

    /** Whether nothing is under way that may need a rank. */
    boolean idle();

    /**
     * What must happen before a task goes on: what it waits for itself, or what the operation waits
     * for that is before it.
     *
     * @param task null for any of those under way, in turn another one
     * @return null if nothing is awaited
     */
    @Nullable Blocked blocked(@Nullable Task task);

    /**
     * What each operation waits for that is not behind another, with a number that changes when it
     * has moved.
     */
    void forEachBlocked(ObjLongConsumer<Blocked> action);

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
    long longestNapNs();

    /**
     * Looks for a fault of what the operations run on.
     *
     * @throws org.jccl.type.NcclException if there is one
     */
    void requireSound();

    /**
     * Whether another rank has published the collective call that comes so many after the last one
     * of this rank, or a later one.
     */
    boolean hasComeTo(int q, int ahead);

    /**
     * Compares the last call with those of the others.
     *
     * @throws org.jccl.type.NcclException if a rank has called something else
     */
    void requireSameCall();

    /** The number of a collective's call. */
    long numberOf(Task task);

    /** The counters. */
    Counters counters();
}
