package org.jccl.comm;

import org.jccl.log.Log;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.function.Supplier;

/**
 * The state of one communicator, the splits of it that are under way, and why it has failed. It is
 * the only place where these change, and refuses what a communicator does not take in its state.
 * For any thread.
 */
final class StateMachine {
    /** The name of the communicator, which changes while it is being made. */
    private final Supplier<String> identity;

    /** Written under the monitor of this, read by anybody (volatile). */
    volatile CommState state = CommState.INITIALIZING;

    /** How many splits are under way; written and read likewise. */
    volatile int splits;

    private long begun;

    /** Why the last split that failed did so; written and read likewise. */
    volatile @Nullable NcclException splitFailure;

    /**
     * The failure of init or of another call, but not of an operation. Any thread writes it, before
     * the state becomes FAILED, and reads it (volatile).
     */
    volatile @Nullable NcclException failure;

    StateMachine(Supplier<String> identity) {
        this.identity = identity;
    }

    /**
     * Changes the state if it is this one. An edge that {@link CommState#leadsTo} does not know is
     * a fault of JCCL: it is logged, and nothing changes.
     *
     * @return whether this call has changed it
     */
    boolean change(CommState from, CommState to) {
        if (!from.leadsTo(to)) {
            Log.survived(
                    "",
                    ErrorKind.IMPOSSIBLE.says(
                            "%s is %s and cannot become %s",
                            identity.get(), from.text(), to.text()));
            return false;
        }
        synchronized (this) {
            boolean changes = state == from;
            state = changes ? to : state;
            return changes;
        }
    }

    /**
     * The end, from whatever state.
     *
     * @return false if it has been before
     */
    synchronized boolean end() {
        return state != CommState.DESTROYED && change(state, CommState.DESTROYED);
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

    /** Refuses a call that needs a communicator with nothing in progress. */
    void ensureReady() {
        CommState now = state;
        if (now == CommState.READY && splits == 0) {
            return;
        }
        throw now == CommState.INITIALIZING || now == CommState.READY ? notReady() : ended(now);
    }

    NcclException notReady() {
        NcclException failed = failure;
        return failed != null
                ? failed
                : ErrorKind.NOT_READY.says(
                        "Attempt to use communicator before the previous operation returned "
                                + "ncclSuccess (%s); poll ncclCommGetAsyncError until it is no "
                                + "longer ncclInProgress",
                        identity.get());
    }

    NcclException ended(CommState now) {
        NcclException failed = failure;
        return now == CommState.FAILED && failed != null
                ? ErrorKind.INIT_FAILED.says(
                        failed,
                        "%s failed in init and can only be destroyed: %s",
                        identity.get(),
                        failed.getMessage())
                : ErrorKind.ALREADY_ENDED.says(
                        "%s has been %s and cannot be used any more; end a communicator after "
                                + "its last use",
                        identity.get(), now.text());
    }

    /**
     * Its user has aborted it. The others hear of a split that failed before: where only some of
     * them have come to its end, the rest learn the reason from this.
     */
    NcclException aborted(int rank) {
        NcclException split = splitFailure;
        return split == null
                ? ErrorKind.ABORTED.says("rank %s aborted %s", rank, identity.get())
                : ErrorKind.ABORTED.says(
                        "rank %s aborted %s after a split had failed: %s",
                        rank, identity.get(), split.getMessage());
    }
}
