package org.jccl.progress;

import org.jccl.log.Log;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;

/** What an operation threw, as a failure of the communicator. */
final class Failures {
    /** The failure until an Error's message is made, which may take stack or memory. */
    @SuppressWarnings("StaticAssignmentOfThrowable")
    static final NcclException TORN = Unforeseen.noStack();

    private Failures() {}

    static NcclException of(Throwable thrown) {
        return Unforeseen.of(thrown, "in an operation");
    }

    /** Logs a failure; if even that is too much, the failure stands and is known all the same. */
    static void log(NcclException why) {
        try {
            Log.warn(why);
        } catch (RuntimeException | Error unsaid) {
            // There is no stack or memory to log it.
        }
    }
}
