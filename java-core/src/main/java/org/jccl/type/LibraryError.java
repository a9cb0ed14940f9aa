package org.jccl.type;

/** What the system refuses, and faults of JCCL itself. */
public enum LibraryError implements ErrorKind {
    SYSTEM_CALL(
            NcclResult.SYSTEM_ERROR,
            "The system refused something that JCCL needs: descriptors, memory, threads, or a "
                    + "list of interfaces.",
            "Raise the limit that the sentence names (ulimit -n for descriptors, ulimit -u for "
                    + "threads), or free memory."),
    NO_MEMORY(
            NcclResult.SYSTEM_ERROR,
            "The heap of Java is full: its limit is low, or very many communicators are open.",
            "Set JCCL_JVM_HEAP (512m, for example) before the first call, or destroy"
                    + " communicators."),
    NO_STACK(
            NcclResult.SYSTEM_ERROR,
            "The calling thread was deep in other calls, or its stack is small.",
            "Give the thread a larger stack: JCCL needs 512 KiB of it."),
    DEVICE_FAILED(
            NcclResult.UNHANDLED_CUDA_ERROR,
            "A device has refused something, or does nothing any more since an earlier program on"
                    + " it failed.",
            "Look for the first failure of the device in the log and in your own calls to it; a"
                    + " process whose device has failed must start again."),
    UNEXPECTED(
            NcclResult.INTERNAL_ERROR,
            "A Java exception that JCCL did not expect. The log has its place.",
            "Please report it, with the log of NCCL_DEBUG=INFO."),
    SURVIVED(
            NcclResult.INTERNAL_ERROR,
            "A thread of JCCL met a Java exception that it did not expect, and goes on.",
            "Give Java more memory if that is what it met; otherwise please report it."),
    IMPOSSIBLE(
            NcclResult.INTERNAL_ERROR,
            "A state that the code of JCCL should have made impossible.",
            "Please report it, with the log of NCCL_DEBUG=INFO.");

    private final NcclResult result;

    // A record of two texts does not change.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Explanation explanation;

    LibraryError(NcclResult result, String cause, String cure) {
        this.result = result;
        this.explanation = new Explanation(cause, cure);
    }

    @Override
    public NcclResult result() {
        return result;
    }

    @Override
    public Explanation explanation() {
        return explanation;
    }
}
