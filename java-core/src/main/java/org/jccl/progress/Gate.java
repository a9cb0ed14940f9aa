package org.jccl.progress;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

/**
 * Decides who may touch a communicator's memory: its owner and its visitors, and nobody after the
 * end.
 */
final class Gate {
    private static final int FREE = 0;
    private static final int OWNED = 1;
    private static final AtomicIntegerFieldUpdater<Gate> OWNER =
            AtomicIntegerFieldUpdater.newUpdater(Gate.class, "owner");
    private static final AtomicInteger NUMBERS = new AtomicInteger();

    /** Number of the communicator in this process. */
    final int number = NUMBERS.getAndIncrement();

    /** Taken with compare-and-set, freed with release, by any thread; an updater wants volatile. */
    @SuppressWarnings("UnusedVariable")
    private volatile int owner;

    /** How many threads may touch memory without owning it; the closer waits for zero. */
    private final AtomicInteger visitors = new AtomicInteger();

    /** How many callers wait for operations, beyond a first look. */
    private final AtomicInteger waiting = new AtomicInteger();

    /** Whether a thread looks after the communicator, so that it moves while nobody waits. */
    private final AtomicBoolean attended = new AtomicBoolean();

    /** Which thread does, or did; written before that thread knows (volatile), read by others. */
    volatile @Nullable Thread attendant;

    /** How many threads of this process sleep on each rank's region; below, on all of them. */
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
        OWNER.lazySet(this, FREE);
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
        if (visitors.getAndDecrement() <= 0) {
            visitors.getAndIncrement();
            throw new IllegalStateException("a thread left that had not entered");
        }
    }

    /** Runs an action as the owner, unless there is one; whether it has run. */
    boolean own(Runnable action) {
        if (!tryOwn()) {
            return false;
        }
        try {
            action.run();
            return true;
        } finally {
            release();
        }
    }

    /** The same, unless the communicator is gone. */
    void ifFree(Runnable action) {
        visit(() -> own(action));
    }

    /** Runs an action that touches memory; false if it must not, or returns false. */
    boolean visit(BooleanSupplier action) {
        if (!enter()) {
            return false;
        }
        try {
            return action.getAsBoolean();
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

    /** Announces that the calling thread, after one more look, may sleep on a rank's region. */
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

    /** Passes on each rank on whose region threads sleep, once. */
    void forEachSleptOn(IntConsumer action) {
        for (int rank = 0; rank < sleepers.length(); rank++) {
            if (sleepers.get(rank) > 0) {
                action.accept(rank);
            }
        }
    }

    boolean waiting() {
        return waiting.get() > 0;
    }

    void startWaiting() {
        waiting.getAndIncrement();
    }

    /** Ends one wait; returns whether it was the last. */
    boolean stopWaiting() {
        return waiting.decrementAndGet() == 0;
    }

    /** Returns whether it is the caller who must make a thread attend. */
    boolean startAttending() {
        return !attended.get() && attended.compareAndSet(false, true);
    }

    void stopAttending() {
        attended.set(false);
    }

    boolean attended() {
        return attended.get();
    }
}
