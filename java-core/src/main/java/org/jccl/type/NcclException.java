package org.jccl.type;

/** A failure with its result code; the message says what, where, which rank, and what to do. */
public final class NcclException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final NcclResult result;

    /** A failure without a cause of its own. */
    public NcclException(NcclResult result, String message) {
        super(message);
        this.result = result;
    }

    /** A failure that another one caused. */
    public NcclException(NcclResult result, String message, Throwable cause) {
        super(message, cause);
        this.result = result;
    }

    /** The code that a C caller gets. */
    public NcclResult result() {
        return result;
    }

    /** The same, naming the communicator with its rank, unless the sentence does that already. */
    public NcclException on(String identity) {
        String said = String.valueOf(getMessage());
        return said.contains("comm 0x")
                ? this
                : new NcclException(result, said + " (" + identity + ")", this);
    }

    /** A bad argument: the call had no effect. */
    public static NcclException invalidArgument(String message) {
        return new NcclException(NcclResult.INVALID_ARGUMENT, message);
    }

    /** A call that is not allowed here or now. */
    public static NcclException invalidUsage(String message) {
        return new NcclException(NcclResult.INVALID_USAGE, message);
    }

    /** The operating system refused something. */
    public static NcclException systemError(String message) {
        return new NcclException(NcclResult.SYSTEM_ERROR, message);
    }

    /** A peer died, left, or reported an error. */
    public static NcclException remoteError(String message) {
        return new NcclException(NcclResult.REMOTE_ERROR, message);
    }

    /** A time limit passed. */
    public static NcclException timeout(String message) {
        return new NcclException(NcclResult.TIMEOUT, message);
    }

    /** A state that JCCL's own code should have made impossible. */
    public static NcclException internalError(String message) {
        return new NcclException(NcclResult.INTERNAL_ERROR, message);
    }
}
