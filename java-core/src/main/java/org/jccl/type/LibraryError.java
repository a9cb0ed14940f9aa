package org.jccl.type;

/** What the system refuses, and faults of JCCL itself. */
public enum LibraryError implements ErrorKind {
    SYSTEM_CALL(
            NcclResult.SYSTEM_ERROR,
            "The system refused something that JCCL needs: descriptors, memory, or a list of "
                    + "interfaces.",
            "Raise the limit that the sentence names (ulimit -n for descriptors), or free "
                    + "memory."),
    NO_MEMORY(
            NcclResult.SYSTEM_ERROR,
            "The heap of Java is full: its limit is low, or very many communicators are open.",
            "Set JCCL_JVM_HEAP (512m, for example) before the first call, or destroy"
                    + " communicators."),
    NO_STACK(
            NcclResult.SYSTEM_ERROR,
            "The calling thread was deep in other calls, or its stack is small.",
            "Give the thread a larger stack: JCCL needs 512 KiB of it."),
    UNEXPECTED(
            NcclResult.INTERNAL_ERROR,
            "A Java exception that JCCL did not expect. The log has its place.",
            "Please report it, with the log of NCCL_DEBUG=INFO."),
    IMPOSSIBLE(
            NcclResult.INTERNAL_ERROR,
            "A state that the code of JCCL should have made impossible.",
            "Please report it, with the log of NCCL_DEBUG=INFO.");

    private static final String GIVE_MORE =
            "give it more (JCCL_JVM_HEAP=512m), or destroy communicators";

    /** Made while there is memory. */
    private static final NcclException FULL =
            NO_MEMORY.says("Java has no memory left; " + GIVE_MORE);

    private final NcclResult result;

    // A record of texts and of a list that is copied does not change.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Explanation explanation;

    LibraryError(NcclResult result, String cause, String cure) {
        this.result = result;
        this.explanation = Explanation.of(result, cause, cure);
    }

    @Override
    public NcclResult result() {
        return result;
    }

    @Override
    public Explanation explanation() {
        return explanation;
    }

    /** A failure that JCCL's own code did not foresee; where: "in a call", … */
    public static NcclException unexpected(Throwable t, String where) {
        try {
            return described(t, where);
        } catch (OutOfMemoryError unsaid) {
            return FULL;
        }
    }

    private static NcclException described(Throwable t, String where) {
        if (t instanceof OutOfMemoryError) {
            return NO_MEMORY.says(
                    "Java has no memory left (" + t + " " + where + "); " + GIVE_MORE, t);
        }
        if (t instanceof StackOverflowError) {
            return NO_STACK.says(
                    "too little is left of this thread's stack "
                            + where
                            + ": JCCL needs 512 KiB of it",
                    t);
        }
        return UNEXPECTED.says("unexpected " + t + " " + where, t);
    }
}
