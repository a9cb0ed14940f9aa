package org.jccl.type;

/** Result codes with NCCL's numbers ({@code ncclResult_t}). */
public enum NcclResult {
    SUCCESS(0),
    UNHANDLED_CUDA_ERROR(1),
    SYSTEM_ERROR(2),
    INTERNAL_ERROR(3),
    INVALID_ARGUMENT(4),
    INVALID_USAGE(5),
    REMOTE_ERROR(6),
    IN_PROGRESS(7),
    TIMEOUT(8);

    private static final NcclResult[] BY_CODE = values();

    private final int code;

    NcclResult(int code) {
        this.code = code;
    }

    /** The value of {@code ncclResult_t}. */
    public int code() {
        return code;
    }

    /** As {@link #of} for a peer's failure: REMOTE_ERROR if its code is that of no failure. */
    public static NcclResult ofFailure(int code) {
        NcclResult result = of(code);
        return result == SUCCESS || result == IN_PROGRESS ? REMOTE_ERROR : result;
    }

    /** The result with this code; an unknown code is {@link #INTERNAL_ERROR}. */
    public static NcclResult of(int code) {
        return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : INTERNAL_ERROR;
    }
}
