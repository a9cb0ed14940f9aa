package org.jccl.type;

import org.jspecify.annotations.Nullable;

/**
 * A failure with its result code; the message says what, where, which rank, and what to do. It is
 * made by its {@link ErrorKind}.
 */
public final class NcclException extends RuntimeException {
    private static final long serialVersionUID = 2L;

    private final ErrorKind kind;
    private final NcclResult result;

    NcclException(ErrorKind kind, NcclResult result, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
        this.result = result;
    }

    /** The entry of {@code docs/errors.md} that explains it. */
    public ErrorKind kind() {
        return kind;
    }

    /** The code that a C caller gets. */
    public NcclResult result() {
        return result;
    }

    /**
     * Throws the failure, if there is one. It may belong to several threads: each throws one of its
     * own, whose stack shows the call that failed.
     */
    public static void throwIfAny(@Nullable NcclException failure) {
        if (failure != null) {
            throw failure.here();
        }
    }

    private NcclException here() {
        try {
            return new NcclException(kind, result, String.valueOf(getMessage()), this);
        } catch (OutOfMemoryError | StackOverflowError unmade) {
            return this;
        }
    }

    /** The same, naming the communicator with its rank, unless the sentence does that already. */
    public NcclException on(String identity) {
        String said = String.valueOf(getMessage());
        return said.contains("comm 0x")
                ? this
                : new NcclException(kind, result, said + " (" + identity + ")", this);
    }
}
