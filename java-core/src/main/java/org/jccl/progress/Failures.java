package org.jccl.progress;

import org.jccl.log.Log;
import org.jccl.type.CallError;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;

/** What callers are told about a failure. */
final class Failures {
    /** The failure until an Error's message is made, which may take stack or memory. */
    @SuppressWarnings("StaticAssignmentOfThrowable")
    static final NcclException TORN = Unforeseen.noStack();

    private Failures() {}

    /** Turns what an operation threw into a failure of the communicator. */
    static NcclException of(Throwable thrown) {
        return thrown instanceof NcclException known
                ? known
                : Unforeseen.of(thrown, "in an operation");
    }

    /** Logs a failure; if even that is too much, the failure stands and is known all the same. */
    static void log(NcclException why) {
        try {
            Log.warn(why);
        } catch (RuntimeException | Error unsaid) {
            // There is no stack or memory to log it.
        }
    }

    static NcclException interrupted(int rank) {
        return CallError.INTERRUPTED.says(
                "rank %s was interrupted by its user; destroy the communicator", rank);
    }

    static NcclException tooMany(int most) {
        return CallError.TOO_MANY_PENDING.says(
                "more than %s operations are under way on one communicator; wait for some", most);
    }

    /** The answer to a call on a communicator that has failed. */
    static NcclException refused(NcclException failed) {
        return CallError.FAILED_BEFORE.says(
                failed,
                "the communicator can only be destroyed or aborted: %s",
                failed.getMessage());
    }
}
