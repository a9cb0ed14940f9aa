package org.jccl.comm;

import org.jccl.type.CallError;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/** Failures of calls that a communicator does not take in its present state, or no longer. */
final class Refusals {
    private Refusals() {}

    /** Throws the failure, if there is one. */
    static void throwIfAny(@Nullable NcclException failure) {
        if (failure != null) {
            throw failure;
        }
    }

    static NcclException notReady(Comm comm) {
        NcclException failed = comm.ownFailure();
        if (failed != null) {
            return failed;
        }
        return CallError.NOT_READY.says(
                "Attempt to use communicator before the previous operation returned "
                        + "ncclSuccess (%s); poll ncclCommGetAsyncError until it is no longer "
                        + "ncclInProgress",
                comm.identity());
    }

    static NcclException ended(Comm comm, CommState now) {
        NcclException failed = comm.ownFailure();
        if (now == CommState.FAILED && failed != null) {
            return CallError.INIT_FAILED.says(
                    failed,
                    "%s failed in init and can only be destroyed: %s",
                    comm.identity(),
                    failed.getMessage());
        }
        return CallError.ALREADY_ENDED.says(
                "%s has been %s and cannot be used any more; end a communicator after "
                        + "its last use",
                comm.identity(), now.text());
    }

    /**
     * Its user has aborted it. The others hear of a split that failed before: where only some of
     * them have come to its end, the rest learn the reason from this.
     */
    static NcclException aborted(Comm comm, @Nullable NcclException split) {
        if (split == null) {
            return CallError.ABORTED.says("rank %s aborted %s", comm.rank(), comm.identity());
        }
        return CallError.ABORTED.says(
                "rank %s aborted %s after a split had failed: %s",
                comm.rank(), comm.identity(), split.getMessage());
    }
}
