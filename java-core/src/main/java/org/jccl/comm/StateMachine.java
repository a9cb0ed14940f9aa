package org.jccl.comm;

import org.jccl.log.Log;
import org.jccl.type.LibraryError;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * The state of one communicator and the splits of it that are under way, and the only place where
 * both change. For any thread.
 */
final class StateMachine {
    /** Written under the monitor of this, read by anybody (volatile). */
    volatile CommState state = CommState.INITIALIZING;

    /** How many splits are under way; written and read likewise. */
    volatile int splits;

    private long begun;

    /** Why the last split that failed did so; written and read likewise. */
    volatile @Nullable NcclException splitFailure;

    /**
     * Changes the state if it is this one. An edge that {@link CommState#leadsTo} does not know is
     * a fault of JCCL: it is logged, and nothing changes.
     *
     * @return whether this call has changed it
     */
    boolean change(CommState from, CommState to, Comm whose) {
        if (!from.leadsTo(to)) {
            Log.survived("", illegal(from, to, whose));
            return false;
        }
        synchronized (this) {
            boolean changes = state == from;
            state = changes ? to : state;
            return changes;
        }
    }

    private static Throwable illegal(CommState from, CommState to, Comm whose) {
        return LibraryError.IMPOSSIBLE.says(
                "%s is %s and cannot become %s", whose.identity(), from.text(), to.text());
    }

    /**
     * The end, from whatever state.
     *
     * @return false if it has been before
     */
    synchronized boolean end(Comm whose) {
        return state != CommState.DESTROYED && change(state, CommState.DESTROYED, whose);
    }

    /** Begins a split; answers its number, from 1. */
    synchronized long beginSplit() {
        splits++;
        return ++begun;
    }

    /** A split is over, with a reason if it has failed. */
    synchronized void endSplit(@Nullable NcclException why) {
        splitFailure = why == null ? splitFailure : why;
        splits--;
        notifyAll();
    }

    /** Waits until no split is under way, but not for long. */
    synchronized void awaitSplits(long limitMs) {
        long end = System.nanoTime() + limitMs * 1_000_000;
        while (splits > 0 && System.nanoTime() - end < 0) {
            try {
                wait(10);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }
}
