package org.jccl.type;

/** What other ranks do, or fail to do, in operations. */
public enum PeerError implements ErrorKind {
    LOST(
            NcclResult.REMOTE_ERROR,
            "A rank that this one waits for has died: its process ended without a goodbye, or "
                    + "its connection broke. A rank learns of it within five seconds.",
            "Look for that rank's end in its own log, and in the system's for the out-of-memory"
                    + " killer. Destroy or abort the communicator."),
    LEFT(
            NcclResult.REMOTE_ERROR,
            "A rank that this one waits for has destroyed its communicator or ended in good "
                    + "order.",
            "All ranks must make the same calls before any of them ends. Destroy or abort the "
                    + "communicator."),
    REPORTED(
            NcclResult.REMOTE_ERROR,
            "Another rank failed and tells why; the sentence is its own. ncclInvalidUsage, if "
                    + "ranks called differently.",
            "Do what the sentence asks for, on the rank that it names. Destroy or abort the "
                    + "communicator."),
    LATE(
            NcclResult.TIMEOUT,
            "A rank has not come to an operation in time: within the time limit for ncclTimeout,"
                + " within JCCL_LATE_WARN for the warning of the same text, after which this rank"
                + " goes on waiting.",
            "See what the late ranks do: a stopped or overloaded process, a branch that only "
                    + "some ranks take. JCCL_TIMEOUT sets the limit."),
    CALLED_DIFFERENTLY(
            NcclResult.INVALID_USAGE,
            "Two ranks made different calls at the same place; the sentence names both.",
            "Make the same calls with the same count, type, operation and root, in the same "
                    + "order, on all ranks."),
    UNMATCHED(
            NcclResult.INVALID_USAGE,
            "A receive met a send of another count or type.",
            "Let count and type be equal on both sides; several messages between two ranks "
                    + "match in order."),
    NONSENSE(
            NcclResult.REMOTE_ERROR,
            "A peer sent or published something that no JCCL of this version does: its memory "
                    + "is damaged, or a stranger writes.",
            "Look at that rank for memory errors (its program may write through a wild "
                    + "pointer); use one version on all ranks. Destroy or abort the communicator."),
    UNREADABLE(
            NcclResult.SYSTEM_ERROR,
            "Ranks of a node could read each other's memory at init and cannot do so any more: a "
                    + "process has changed its user or has made itself undumpable, or a filter of "
                    + "system calls was set.",
            "Let that happen before the communicator is created, or set NCCL_P2P_READ_ENABLE=0 on "
                    + "all ranks.");

    private final NcclResult result;

    // A record of two texts does not change.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Explanation explanation;

    PeerError(NcclResult result, String cause, String cure) {
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
