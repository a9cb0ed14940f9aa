package org.jccl.progress;

import org.jccl.transport.Links;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.IntConsumer;

/** Who may touch a communicator's memory: its owner, its visitors, and after the end nobody. */
final class Gate {
    private static final int FREE = 0;
    private static final int OWNED = 1;
    private static final VarHandle OWNER;
    private static final AtomicInteger NUMBERS = new AtomicInteger();

    static {
        try {
            OWNER = MethodHandles.lookup().findVarHandle(Gate.class, "owner", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Number of the communicator in this process. */
    final int number = NUMBERS.getAndIncrement();

    /** Taken with compare-and-set, freed with release, by any thread. */
    @SuppressWarnings("UnusedVariable")
    private int owner;

    /** Threads that may touch memory without owning; the closer waits for zero. */
    private final AtomicInteger visitors = new AtomicInteger();

    /** Callers that wait for operations, beyond a first look. */
    private final AtomicInteger waiting = new AtomicInteger();

    /** Whether a stream thread looks after the communicator. */
    private final AtomicBoolean attended = new AtomicBoolean();

    /** Threads of this process that sleep on each rank's region, and on all of them. */
    private final AtomicIntegerArray sleepers;

    private final AtomicInteger allSleepers = new AtomicInteger();

    /** Set once (volatile); from then on nothing touches memory. */
    private volatile boolean closed;

    Gate(int nRanks) {
        sleepers = new AtomicIntegerArray(nRanks);
    }

    /** Takes the owner word if it is free. */
    boolean tryOwn() {
        return OWNER.compareAndSet(this, FREE, OWNED);
    }

    /** Gives the owner word back. */
    void release() {
        OWNER.setRelease(this, FREE);
    }

    /** Announces a thread that will touch memory; false if it must not. */
    boolean enter() {
        visitors.getAndIncrement();
        if (closed) {
            visitors.getAndDecrement();
            return false;
        }
        return true;
    }

    /** The thread announced by {@link #enter} touches nothing any more. */
    void leave() {
        visitors.getAndDecrement();
    }

    /** As the owner, unless there is one or the communicator is gone. */
    void ifFree(Runnable action) {
        if (!enter()) {
            return;
        }
        try {
            if (tryOwn()) {
                try {
                    action.run();
                } finally {
                    release();
                }
            }
        } finally {
            leave();
        }
    }

    int visitors() {
        return visitors.get();
    }

    boolean closed() {
        return closed;
    }

    void close() {
        closed = true;
    }

    /** The calling thread looks once more whether it may, and then sleeps on a rank's region. */
    void startSleeping(int rank) {
        sleepers.getAndIncrement(rank);
        allSleepers.getAndIncrement();
    }

    void stopSleeping(int rank) {
        allSleepers.getAndDecrement();
        sleepers.getAndDecrement(rank);
    }

    boolean anySleeper() {
        return allSleepers.get() > 0;
    }

    /** The ranks on whose regions threads sleep, each once. */
    void forEachSleptOn(IntConsumer action) {
        for (int rank = 0; rank < sleepers.length(); rank++) {
            if (sleepers.get(rank) > 0) {
                action.accept(rank);
            }
        }
    }

    /** Wakes threads of this process that sleep until a rank changes its region. */
    void wakeSleepers(Links links) {
        if (anySleeper() && enter()) {
            try {
                wakeAllSleepers(links);
            } finally {
                leave();
            }
        }
    }

    /** The same, of a communicator that may be closed; its memory is still there. */
    void wakeAllSleepers(Links links) {
        forEachSleptOn(links::wakeSleepersOn);
    }

    boolean waiting() {
        return waiting.get() > 0;
    }

    void startWaiting() {
        waiting.getAndIncrement();
    }

    /** Whether it was the last. */
    boolean stopWaiting() {
        return waiting.decrementAndGet() == 0;
    }

    /** Whether the caller is the one who makes a stream thread attend. */
    boolean startAttending() {
        return attended.compareAndSet(false, true);
    }

    void stopAttending() {
        attended.set(false);
    }

    boolean attended() {
        return attended.get();
    }
}
