package org.jccl.type;

import org.jspecify.annotations.Nullable;

/**
 * The kinds of errors of the Java core. {@link #says} makes their exceptions, and nothing else can,
 * so that each exception stands in {@code docs/errors.md}. The first chapters of that page have an
 * entry for each constant: its code and sentences, which a test writes there, and its cause and
 * cure, which a person writes.
 */
public enum ErrorKind {
    // Calls: wrong ones, and calls on what has ended.
    NULL_ARGUMENT(NcclResult.INVALID_ARGUMENT),
    NOT_A_COMMUNICATOR(NcclResult.INVALID_ARGUMENT),
    ALREADY_ENDED(NcclResult.INVALID_ARGUMENT),
    NOT_DESTROYED(NcclResult.INVALID_USAGE),
    GIVEN_UP(NcclResult.INVALID_USAGE),
    NOT_READY(NcclResult.INVALID_ARGUMENT),
    NOT_READY_IN_TIME(NcclResult.TIMEOUT),
    INIT_FAILED(NcclResult.INVALID_USAGE),
    FAILED_BEFORE(NcclResult.REMOTE_ERROR),
    STREAM_NOT_NULL(NcclResult.INVALID_ARGUMENT),
    STREAM_UNKNOWN(NcclResult.INVALID_ARGUMENT),
    BUFFER_KIND(NcclResult.INVALID_ARGUMENT),
    DEVICE_UNKNOWN(NcclResult.INVALID_ARGUMENT),
    TOO_MUCH_STAGED(NcclResult.INVALID_USAGE),
    CONFIG_NOT_INITIALIZED(NcclResult.INVALID_ARGUMENT),
    CONFIG_VALUE(NcclResult.INVALID_ARGUMENT),
    TIME_LIMIT_NEGATIVE(NcclResult.INVALID_ARGUMENT),
    RANK_COUNT(NcclResult.INVALID_ARGUMENT),
    RANK_OUTSIDE(NcclResult.INVALID_ARGUMENT),
    ID_COUNT(NcclResult.INVALID_ARGUMENT),
    DEVICE_NUMBER(NcclResult.INVALID_ARGUMENT),
    DEVICE_TWICE(NcclResult.INVALID_USAGE),
    NOT_DONE_YET(NcclResult.INVALID_USAGE),
    TYPE_UNKNOWN(NcclResult.INVALID_ARGUMENT),
    REDUCTION_UNKNOWN(NcclResult.INVALID_ARGUMENT),
    REDUCTION_ENDED(NcclResult.INVALID_ARGUMENT),
    REDUCTION_TYPE(NcclResult.INVALID_ARGUMENT),
    RESIDENCE_UNKNOWN(NcclResult.INVALID_ARGUMENT),
    NOT_ALLOCATED(NcclResult.INVALID_ARGUMENT),
    ROOT_OR_PEER(NcclResult.INVALID_ARGUMENT),
    COUNT_OVERFLOW(NcclResult.INVALID_ARGUMENT),
    COUNT_UNFIT(NcclResult.INVALID_ARGUMENT),
    BUFFER_ON_HEAP(NcclResult.INVALID_ARGUMENT),
    BUFFER_NO_ARRAY(NcclResult.INVALID_ARGUMENT),
    BUFFER_ORDER(NcclResult.INVALID_ARGUMENT),
    BUFFER_TOO_SMALL(NcclResult.INVALID_ARGUMENT),
    ARENA_CLOSED(NcclResult.INVALID_ARGUMENT),
    ARENA_OF_ANOTHER(NcclResult.INVALID_ARGUMENT),
    BUFFER_READ_ONLY(NcclResult.INVALID_ARGUMENT),
    BUFFERS_OVERLAP(NcclResult.INVALID_ARGUMENT),
    TOO_LARGE(NcclResult.INVALID_USAGE),
    TOO_MANY_RANKS(NcclResult.INVALID_USAGE),
    TOO_MANY_PENDING(NcclResult.INVALID_USAGE),
    SPLIT_COLOR(NcclResult.INVALID_ARGUMENT),
    GROUP_MIXED(NcclResult.INVALID_ARGUMENT),
    GROUP_NOT_OPEN(NcclResult.INVALID_USAGE),
    GROUP_ABANDONED(NcclResult.INVALID_USAGE),
    GROUP_FAILED(NcclResult.REMOTE_ERROR),
    FUTURE_IN_GROUP(NcclResult.INVALID_USAGE),
    ENDED_HERE(NcclResult.INVALID_USAGE),
    ABORTED(NcclResult.REMOTE_ERROR),
    INTERRUPTED(NcclResult.REMOTE_ERROR),
    ENDED_NORMALLY(NcclResult.REMOTE_ERROR),
    NOT_PARKED(NcclResult.INVALID_USAGE),
    STARTED_UNKNOWN(NcclResult.INVALID_ARGUMENT),
    ID_SIZE(NcclResult.INVALID_ARGUMENT),
    ID_FOREIGN(NcclResult.INVALID_ARGUMENT),
    ID_DAMAGED(NcclResult.INVALID_ARGUMENT),
    ID_USED(NcclResult.INVALID_USAGE),
    VARIABLE_MISSING(NcclResult.INVALID_USAGE),
    VARIABLE_UNFIT(NcclResult.INVALID_USAGE),
    ADDRESS_INVALID(NcclResult.INVALID_ARGUMENT),

    // Finding each other.
    ROOT_FORGOT(NcclResult.REMOTE_ERROR),
    STORE_FAILED(NcclResult.REMOTE_ERROR),
    STORE_SILENT(NcclResult.TIMEOUT),
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
    SHARED_MEMORY_FOREIGN(NcclResult.SYSTEM_ERROR),

    // Other ranks, in operations.
    LOST(NcclResult.REMOTE_ERROR),
    LEFT(NcclResult.REMOTE_ERROR),
    REPORTED(NcclResult.REMOTE_ERROR),
    LATE(NcclResult.TIMEOUT),
    CALLED_DIFFERENTLY(NcclResult.INVALID_USAGE),
    UNMATCHED(NcclResult.INVALID_USAGE),
    NONSENSE(NcclResult.REMOTE_ERROR),
    UNREADABLE(NcclResult.SYSTEM_ERROR),
    BUFFER_UNREADABLE(NcclResult.SYSTEM_ERROR),

    // The system, which refuses something, and faults of JCCL.
    SYSTEM_CALL(NcclResult.SYSTEM_ERROR),
    NO_MEMORY(NcclResult.SYSTEM_ERROR),
    NO_STACK(NcclResult.SYSTEM_ERROR),
    DEVICE_FAILED(NcclResult.UNHANDLED_CUDA_ERROR),
    UNEXPECTED(NcclResult.INTERNAL_ERROR),
    SURVIVED(NcclResult.INTERNAL_ERROR),
    IMPOSSIBLE(NcclResult.INTERNAL_ERROR);

    /** The code that a C caller gets, unless the failure tells of another one. */
    private final NcclResult result;

    ErrorKind(NcclResult result) {
        this.result = result;
    }

    /**
     * A failure of this kind.
     *
     * @param sentence says what, where, which rank, and what to do; each %s stands for a part
     */
    public NcclException says(String sentence, @Nullable Object... parts) {
        return new NcclException(this, result, Sentence.of(sentence, parts), null);
    }

    /** The same with its cause. */
    public NcclException because(Throwable cause, String sentence, @Nullable Object... parts) {
        return new NcclException(this, result, Sentence.of(sentence, parts), cause);
    }

    /** A failure that tells of another one, whose code it has. */
    public NcclException says(NcclResult result, String sentence, @Nullable Object... parts) {
        return new NcclException(this, result, Sentence.of(sentence, parts), null);
    }

    /** The same about a failure of this process. */
    public NcclException says(NcclException told, String sentence, @Nullable Object... parts) {
        return new NcclException(this, told.result(), Sentence.of(sentence, parts), told);
    }
}
