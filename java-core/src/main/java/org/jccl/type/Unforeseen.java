package org.jccl.type;

/** Makes failures of exceptions that JCCL's own code did not foresee. */
public final class Unforeseen {
    private static final String GIVE_MORE =
            "give it more (JCCL_JVM_HEAP=512m), or destroy communicators";

    /** Part of the message of an OutOfMemoryError that has nothing to do with the heap. */
    private static final String NO_THREAD = "native thread";

    /** HotSpot's words for a signal SIGBUS at an access to memory outside the heap. */
    private static final String NO_PAGE = "unsafe memory access";

    /** Made while there is memory. */
    @SuppressWarnings("StaticAssignmentOfThrowable")
    private static final NcclException FULL =
            ErrorKind.NO_MEMORY.says("Java has no memory left; %s", GIVE_MORE);

    /**
     * The failure until anything is known about an Error: a thread that has run out of stack may do
     * so again in a call, or while it makes a sentence.
     */
    @SuppressWarnings("StaticAssignmentOfThrowable")
    public static final NcclException TORN =
            ErrorKind.NO_STACK.says(
                    "too little stack or memory was left in a call: JCCL needs 512 KiB of a"
                            + " thread's stack, and a heap that is not full (JCCL_JVM_HEAP)");

    private Unforeseen() {}

    /** Loads this class: where it is needed first there may be no memory to do so. */
    public static void prepare() {}

    /**
     * A failure that tells of the exception; the exception itself if it is one.
     *
     * @param where "in a call", …
     */
    public static NcclException of(Throwable t, String where) {
        try {
            return t instanceof NcclException known ? known : described(t, where);
        } catch (OutOfMemoryError unsaid) {
            return FULL;
        } catch (StackOverflowError unsaid) {
            return TORN;
        }
    }

    private static NcclException described(Throwable t, String where) {
        if (t instanceof OutOfMemoryError && String.valueOf(t.getMessage()).contains(NO_THREAD)) {
            return ErrorKind.SYSTEM_CALL.because(
                    t,
                    "the system gives no thread (%s %s); raise the limit of processes "
                            + "(ulimit -u, or pids.max of the container)",
                    t,
                    where);
        }
        if (t instanceof OutOfMemoryError) {
            return ErrorKind.NO_MEMORY.because(
                    t, "Java has no memory left (%s %s); %s", t, where, GIVE_MORE);
        }
        if (t instanceof StackOverflowError) {
            return ErrorKind.NO_STACK.because(
                    t,
                    "too little is left of this thread's stack %s: JCCL needs 512 KiB of it",
                    where);
        }
        if (t instanceof InternalError && String.valueOf(t.getMessage()).contains(NO_PAGE)) {
            return ErrorKind.BUFFER_UNREADABLE.because(
                    t,
                    "a part of a buffer has no memory, as where its file has become shorter (%s "
                            + "%s); pass buffers whose elements all exist",
                    t,
                    where);
        }
        return ErrorKind.UNEXPECTED.because(t, "unexpected %s %s", t, where);
    }
}
