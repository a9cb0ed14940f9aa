package org.jccl.progress;

import org.jccl.log.Log;
import org.jspecify.annotations.Nullable;

import java.util.function.BooleanSupplier;

/**
 * A thread that waits for the end of operations and meanwhile progresses those that begin. Whoever
 * completes futures would otherwise be woken by a stream thread that has to be woken first: beside
 * other work each such step takes as long as a slice of a core. There is at most one in the
 * process.
 */
final class Lender {
    /** Entered under the monitor of this class, left by that thread; read by all (volatile). */
    private static volatile @Nullable Lender present;

    private final Attendant attendant;
    private final Runnable waking;

    /** Set once by the thread (volatile), before it looks for arrivals for the last time. */
    private volatile boolean leaving;

    private Lender(BooleanSupplier over) {
        attendant = new Attendant(Thread.currentThread(), over);
        waking = attendant::wake;
    }

    /**
     * Lends the calling thread, unless another one is lent.
     *
     * @param over what the thread waits for; whoever makes it true calls {@link #wake}
     * @param untilNs System.nanoTime at which to give up
     * @return whether the thread was lent
     */
    static boolean lend(BooleanSupplier over, long untilNs) {
        Lender lender = new Lender(over);
        if (!lender.enters()) {
            return false;
        }
        try {
            while (!over.getAsBoolean()
                    && System.nanoTime() - untilNs < 0
                    && !lender.attendant.thread.isInterrupted()) {
                lender.attendant.turn(untilNs);
            }
        } catch (RuntimeException | Error failure) {
            Log.survived("a lent thread goes on after: ", failure);
        } finally {
            present = null;
            lender.leaving = true;
            lender.attendant.passOn();
        }
        return true;
    }

    private boolean enters() {
        synchronized (Lender.class) {
            boolean free = present == null;
            present = free ? this : present;
            return free;
        }
    }

    /**
     * Gives a communicator to the thread that is lent; false if there is none, or it has another
     * one, or the communicator has peers over TCP or devices: a sleep on these ends by itself only,
     * and would hold up what the thread waits for.
     */
    static boolean attend(CommExecutor executor) {
        Lender lender = present;
        if (lender == null
                || !lender.attendant.isFree()
                || executor.links.anyNet()
                || !executor.callersWait()) {
            return false;
        }
        Sleep arrival = lender.attendant.add(executor);
        if (lender.leaving && lender.attendant.takeBack(arrival)) {
            return false;
        }
        Crowd crowd = executor.lingering.crowd;
        if (executor.helpersHaveCores && crowd.isThere()) {
            Relay.pass(lender.waking, crowd.core());
        } else {
            lender.attendant.wake();
        }
        return true;
    }

    /** Whether it is this thread that is lent. */
    static boolean isLent(Thread thread) {
        Lender lender = present;
        return lender != null && lender.attendant.thread.equals(thread);
    }

    /** Ends the sleep of the thread that is lent, unless it is the caller. */
    static void wake() {
        Lender lender = present;
        if (lender != null && !lender.attendant.thread.equals(Thread.currentThread())) {
            lender.attendant.wake();
        }
    }
}
