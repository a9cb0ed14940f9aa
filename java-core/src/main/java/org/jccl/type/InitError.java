package org.jccl.type;

/** What goes wrong while ranks find each other. */
public enum InitError implements ErrorKind {
    ROOT_FORGOT(
            NcclResult.REMOTE_ERROR,
            "The process that made the unique id runs, but no longer knows it.",
            "Keep the process that called ncclGetUniqueId until all ranks have come; make a new"
                    + " id for a new communicator."),
    ROOT_FOREIGN(
            NcclResult.REMOTE_ERROR,
            "Something answers at the address in the unique id, but it does not know the secret"
                    + " in it: the port now belongs to another job.",
            "Make a new unique id. If a job ends before its ranks have come, do not use its id "
                    + "again."),
    ROOT_NONSENSE(
            NcclResult.REMOTE_ERROR,
            "The process that made the unique id sent bytes that no JCCL of this version sends.",
            "Use one version of JCCL on all ranks; see whether something between the machines "
                    + "changes the stream."),
    ROOT_GONE(
            NcclResult.REMOTE_ERROR,
            "The process that made the unique id, or that of a rank, has ended or cannot be "
                    + "reached: nobody listens at its address any more, or the connection broke "
                    + "before all ranks had come.",
            "Look for the end of that process in its own log, and for a firewall between the "
                    + "machines; then start again with a new id."),
    RENDEZVOUS_FAILED(
            NcclResult.REMOTE_ERROR,
            "The process that made the unique id tells why the ranks cannot meet. The code is "
                    + "that of the reason.",
            "Do what the sentence asks for, on the rank that it names."),
    RANKS_DISAGREE(
            NcclResult.INVALID_USAGE,
            "Ranks that came by one unique id do not fit together: one came twice, or two differ "
                    + "in the number of ranks (\"says nranks is\", from 1 to 65,536), the version "
                    + "of JCCL (\"runs JCCL\"), that of the bytes between ranks (\"speaks wire "
                    + "version\"), the order of bytes (\"has byte order\") or a setting.",
            "Give every rank its own number, and all the same number of ranks, the same JCCL "
                    + "and the same variables."),
    RANK_LEFT_INIT(
            NcclResult.REMOTE_ERROR,
            "A rank gave up, failed or ended before the communicator was made.",
            "Look at that rank for why; then start all ranks again with a new id."),
    INIT_TIMEOUT(
            NcclResult.TIMEOUT,
            "Not all ranks have come within JCCL_INIT_TIMEOUT; the sentence says which are "
                    + "missing.",
            "See that the missing ranks were started, reach the address, and call init or split"
                    + " in the same order."),
    EXCHANGE_ENDED(
            NcclResult.INVALID_USAGE,
            "An init or split was ended by this rank, by abort or destroy, before it was "
                    + "complete.",
            "Nothing, if that was meant."),
    ROOT_NOT_OPENED(
            NcclResult.INVALID_USAGE,
            "Rank 0 cannot listen at the address in NCCL_COMM_ID.",
            "Write an address of the machine on which rank 0 runs and a port that nobody else "
                    + "has; initialise one communicator there after the other."),
    SECRET_MISSING(
            NcclResult.INVALID_USAGE,
            "NCCL_COMM_ID names an address that other machines reach, and the ranks have no "
                    + "secret to prove.",
            "Set JCCL_SECRET or JCCL_SECRET_FILE to the same random secret on all ranks."),
    SECRET_NOT_SET(
            NcclResult.INVALID_USAGE,
            "NCCL_COMM_ID names a loopback address, and the ranks have no secret to prove, so that "
                    + "every user of the machine can join. This is a warning.",
            "Set JCCL_SECRET or JCCL_SECRET_FILE to the same random secret on all ranks."),
    SECRET_UNFIT(
            NcclResult.INVALID_USAGE,
            "JCCL_SECRET, or the file that JCCL_SECRET_FILE names, cannot be used.",
            "Set one of them, to 16 random bytes or more; the file must be yours and have mode "
                    + "0600."),
    CANNOT_LISTEN(
            NcclResult.SYSTEM_ERROR,
            "The system gives no port to listen on, or no socket.",
            "Widen JCCL_PORT_RANGE, choose another interface by NCCL_SOCKET_IFNAME, or raise the "
                    + "limit of open files (ulimit -n)."),
    CANNOT_CONNECT(
            NcclResult.SYSTEM_ERROR,
            "The system gives no socket.",
            "Raise the limit of open files (ulimit -n)."),
    NO_INTERFACE(
            NcclResult.INVALID_USAGE,
            "No network interface of this machine fits NCCL_SOCKET_IFNAME and "
                    + "NCCL_SOCKET_FAMILY.",
            "Choose one of those that the sentence lists, or unset the variables."),
    PEER_GAVE_UP(
            NcclResult.REMOTE_ERROR,
            "A rank could not do its part of an init or split, and tells why. The code is that "
                    + "of its failure.",
            "Do what the sentence asks for, on the rank that it names."),
    PEER_ENDED_INIT(
            NcclResult.REMOTE_ERROR,
            "The process of a rank ended while ranks were being connected.",
            "Look for the end of that process in its own log, then start again with a new id."),
    SHARED_MEMORY_REFUSED(
            NcclResult.SYSTEM_ERROR,
            "The system does not give or open shared memory.",
            "Raise the limit that the sentence names: the memory of the container, or the size of "
                    + "/dev/shm, which is used only where memfd_create is forbidden. Ranks of one "
                    + "node that may not see each other (other user, pid namespace, ptrace rules) "
                    + "use TCP."),
    PIDFD_REFUSED(
            NcclResult.SYSTEM_ERROR,
            "The system knows no pidfd_open, or a filter of the container forbids it. This is a "
                    + "warning: JCCL reads the state of the ranks' processes in /proc instead.",
            "Nothing has to be done; a look costs some microseconds more. Allow pidfd_open (system "
                    + "call 434) to be rid of the warning."),
    SHARED_MEMORY_FOREIGN(
            NcclResult.SYSTEM_ERROR,
            "What the number of a peer's process leads to here is not its memory: the process "
                    + "runs in another pid namespace, or has ended.",
            "Ranks then use TCP. To use shared memory, let the containers share the pid "
                    + "namespace.");

    private final NcclResult result;

    // A record of two texts does not change.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Explanation explanation;

    InitError(NcclResult result, String cause, String cure) {
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
