package org.jccl.type;

/** Refusals of the system, and faults of JCCL itself. */
public enum LibraryError implements ErrorKind {
    SYSTEM_CALL(NcclResult.SYSTEM_ERROR),
    NO_MEMORY(NcclResult.SYSTEM_ERROR),
    NO_STACK(NcclResult.SYSTEM_ERROR),
    DEVICE_FAILED(NcclResult.UNHANDLED_CUDA_ERROR),
    UNEXPECTED(NcclResult.INTERNAL_ERROR),
    SURVIVED(NcclResult.INTERNAL_ERROR),
    IMPOSSIBLE(NcclResult.INTERNAL_ERROR);

    private final NcclResult result;

    LibraryError(NcclResult result) {
        this.result = result;
    }

    @Override
    public NcclResult result() {
        return result;
    }
}
