package org.jccl.comm;

import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.locks.LockSupport;

/**
 * A one-shot background task as a resumable state machine: {@link #advance} never waits for a peer.
 * One thread at a time advances a job.
 */
interface Job {
    /**
     * Goes as far as possible.
     *
     * @return whether the job is over
     * @throws NcclException if it has failed
     */
    boolean advance();

    /** Waits, for at most {@code maxMs}, until going on may make sense. */
    default void awaitActivity(int maxMs) {
        LockSupport.parkNanos(maxMs * 1_000_000L);
    }

    /** Ends the job, which went well if {@code why} is null. Called exactly once. */
    void ended(@Nullable NcclException why);
}
