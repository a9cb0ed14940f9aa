package org.jccl.type;

/** A failure with its result code; the message says what, where, which rank, and what to do. */
public final class NcclException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private static final String GIVE_MORE =
            "give it more (JCCL_JVM_HEAP=512m), or destroy communicators";

    /** Made while there is memory. */
    private static final NcclException NO_MEMORY =
            systemError("Java has no memory left; " + GIVE_MORE);

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

    /** A failure that JCCL's own code did not foresee; where: "in a call", … */
    public static NcclException unexpected(Throwable t, String where) {
        try {
            return described(t, where);
        } catch (OutOfMemoryError unsaid) {
            return NO_MEMORY;
        }
    }

    private static NcclException described(Throwable t, String where) {
        if (t instanceof OutOfMemoryError) {
            return new NcclException(
                    NcclResult.SYSTEM_ERROR,
                    "Java has no memory left (" + t + " " + where + "); " + GIVE_MORE,
                    t);
        }
        if (t instanceof StackOverflowError) {
            return new NcclException(
                    NcclResult.SYSTEM_ERROR,
                    "too little is left of this thread's stack "
                            + where
                            + ": JCCL needs 512 KiB of it",
                    t);
        }
        return new NcclException(NcclResult.INTERNAL_ERROR, "unexpected " + t + " " + where, t);
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
