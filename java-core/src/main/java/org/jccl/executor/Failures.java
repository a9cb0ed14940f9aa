package org.jccl.executor;

import org.jccl.type.CallError;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;

/** What callers are told about a failure. */
final class Failures {
    private Failures() {}

    /** What an operation threw, as a failure of the communicator. */
    static NcclException of(Throwable thrown) {
        return thrown instanceof NcclException known
                ? known
                : Unforeseen.of(thrown, "in an operation");
    }

    /** The answer to a call on a communicator that has failed. */
    static NcclException refused(NcclException failed) {
        return CallError.FAILED_BEFORE.says(
                failed,
                "the communicator can only be destroyed or aborted: " + failed.getMessage());
    }
}
