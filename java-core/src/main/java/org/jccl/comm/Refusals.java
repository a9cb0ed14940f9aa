package org.jccl.comm;

import org.jccl.type.CallError;
import org.jccl.type.NcclException;

/** Why a communicator takes no call in the state that it is in. */
final class Refusals {
    private Refusals() {}

    static NcclException notReady(Comm comm) {
        NcclException failed = comm.ownFailure();
        if (failed != null) {
            return failed;
        }
        return CallError.NOT_READY.says(
                "Attempt to use communicator before the previous operation returned ncclSuccess ("
                        + comm.identity()
                        + "); poll ncclCommGetAsyncError until it is no longer ncclInProgress");
    }

    static NcclException ended(Comm comm, CommState now) {
        NcclException failed = comm.ownFailure();
        if (now == CommState.FAILED && failed != null) {
            return CallError.INIT_FAILED.says(
                    failed,
                    comm.identity()
                            + " failed in init and can only be destroyed: "
                            + failed.getMessage());
        }
        return CallError.ALREADY_ENDED.says(
                comm.identity()
                        + " has been "
                        + now.text()
                        + " and cannot be used any more; end a communicator after its last use");
    }
}
