package org.jccl.type;

/** Result codes with NCCL's numbers ({@code ncclResult_t}). */
public enum NcclResult {
    SUCCESS(0, "no error"),
    UNHANDLED_CUDA_ERROR(1, "unhandled cuda error (run with NCCL_DEBUG=INFO for details)"),
    SYSTEM_ERROR(2, "unhandled system error (run with NCCL_DEBUG=INFO for details)"),
    INTERNAL_ERROR(3, "internal error - please report this issue to the NCCL developers"),
    INVALID_ARGUMENT(4, "invalid argument (run with NCCL_DEBUG=WARN for details)"),
    INVALID_USAGE(5, "invalid usage (run with NCCL_DEBUG=WARN for details)"),
    REMOTE_ERROR(6, "remote process exited or there was a network error"),
    IN_PROGRESS(7, "NCCL operation in progress"),
    TIMEOUT(8, "timeout");

    private static final NcclResult[] BY_CODE = values();

    private final int code;
    private final String text;

    NcclResult(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** The text of a result code, as {@code ncclGetErrorString} has it. */
    public static String text(int code) {
        return code >= 0 && code < BY_CODE.length ? BY_CODE[code].text : "unknown result code";
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
