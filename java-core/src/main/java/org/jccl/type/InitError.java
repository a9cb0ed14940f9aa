package org.jccl.type;

/** Errors while ranks find each other. */
public enum InitError implements ErrorKind {
    ROOT_FORGOT(NcclResult.REMOTE_ERROR),
    ROOT_FOREIGN(NcclResult.REMOTE_ERROR),
    ROOT_NONSENSE(NcclResult.REMOTE_ERROR),
    ROOT_GONE(NcclResult.REMOTE_ERROR),
    RENDEZVOUS_FAILED(NcclResult.REMOTE_ERROR),
    RANKS_DISAGREE(NcclResult.INVALID_USAGE),
    RANK_LEFT_INIT(NcclResult.REMOTE_ERROR),
    INIT_TIMEOUT(NcclResult.TIMEOUT),
    EXCHANGE_ENDED(NcclResult.INVALID_USAGE),
    ROOT_NOT_OPENED(NcclResult.INVALID_USAGE),
    SECRET_MISSING(NcclResult.INVALID_USAGE),
    SECRET_NOT_SET(NcclResult.INVALID_USAGE),
    SECRET_UNFIT(NcclResult.INVALID_USAGE),
    CANNOT_LISTEN(NcclResult.SYSTEM_ERROR),
    CANNOT_CONNECT(NcclResult.SYSTEM_ERROR),
    NO_INTERFACE(NcclResult.INVALID_USAGE),
    PEER_GAVE_UP(NcclResult.REMOTE_ERROR),
    PEER_ENDED_INIT(NcclResult.REMOTE_ERROR),
    SHARED_MEMORY_REFUSED(NcclResult.SYSTEM_ERROR),
    PIDFD_REFUSED(NcclResult.SYSTEM_ERROR),
    SHARED_MEMORY_FOREIGN(NcclResult.SYSTEM_ERROR);

    private final NcclResult result;

    InitError(NcclResult result) {
        this.result = result;
    }

    @Override
    public NcclResult result() {
        return result;
    }
}
