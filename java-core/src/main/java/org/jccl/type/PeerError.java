package org.jccl.type;

/** Errors of other ranks in operations. */
public enum PeerError implements ErrorKind {
    LOST(NcclResult.REMOTE_ERROR),
    LEFT(NcclResult.REMOTE_ERROR),
    REPORTED(NcclResult.REMOTE_ERROR),
    LATE(NcclResult.TIMEOUT),
    CALLED_DIFFERENTLY(NcclResult.INVALID_USAGE),
    UNMATCHED(NcclResult.INVALID_USAGE),
    NONSENSE(NcclResult.REMOTE_ERROR),
    UNREADABLE(NcclResult.SYSTEM_ERROR),
    BUFFER_UNREADABLE(NcclResult.SYSTEM_ERROR);

    private final NcclResult result;

    PeerError(NcclResult result) {
        this.result = result;
    }

    @Override
    public NcclResult result() {
        return result;
    }
}
