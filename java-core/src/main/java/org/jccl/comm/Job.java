package org.jccl.comm;

import org.jccl.type.NcclException;

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
    void awaitActivity(int maxMs);

    /** The job is over: well if {@code why} is null. Called exactly once. */
    void ended(@org.jspecify.annotations.Nullable NcclException why);
}
