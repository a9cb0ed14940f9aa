package org.jccl.type;

/** Wrong calls, and calls on what has ended. */
public enum CallError implements ErrorKind {
    NULL_ARGUMENT(
            NcclResult.INVALID_ARGUMENT,
            "A pointer that the function reads or writes, or a communicator, is NULL.",
            "Pass the address of a variable or buffer. A buffer may be NULL only if its count "
                    + "is 0."),
    NOT_A_COMMUNICATOR(
            NcclResult.INVALID_ARGUMENT,
            "The value was never the handle of a communicator: memory that was not written by an"
                + " init, a copy of it that was cut to 32 bits, or a handle of another process or "
                + "library.",
            "Pass the value that ncclCommInitRank or ncclCommSplit wrote, from this process, "
                    + "whole."),
    ALREADY_ENDED(
            NcclResult.INVALID_ARGUMENT,
            "The communicator has been destroyed, aborted or finalized before.",
            "Destroy or abort each communicator once, after its last use; after finalize only"
                + " queries, destroy and abort are left. If several threads use it, let one end it"
                + " after the others are done."),
    NOT_DESTROYED(
            NcclResult.INVALID_USAGE,
            "Java or Python has dropped the last reference to a communicator that was neither"
                    + " destroyed nor aborted. This is a warning.",
            "Destroy or abort each communicator, or use it in a block that does: try (...) in"
                    + " Java, with in Python."),
    GIVEN_UP(
            NcclResult.INVALID_USAGE,
            "A communicator was destroyed while operations were under way, which did not end within"
                    + " 5 s, as where a peer does not come. What their buffers hold is undefined."
                    + " This is a warning.",
            "Wait for the operations or finalize the communicator, then destroy it; abort it where"
                    + " a peer does not come any more."),
    NOT_READY(
            NcclResult.INVALID_ARGUMENT,
            "A call came while the communicator was still being made, split or finalized in the"
                    + " background.",
            "Poll ncclCommGetAsyncError until it is no longer ncclInProgress, then call again."),
    NOT_READY_IN_TIME(
            NcclResult.TIMEOUT,
            "Java waited for a non-blocking communicator with a time limit, and the limit is "
                    + "past. Nothing has changed: the work goes on in the background.",
            "Wait again, with a longer limit, or abort the communicator. The log names ranks "
                    + "that have not come."),
    INIT_FAILED(
            NcclResult.INVALID_USAGE,
            "The communicator could not be made; the sentence ends with the reason. The code is"
                    + " that of the first failure.",
            "Do what the reason asks for, destroy this communicator, and make a new one by a "
                    + "new unique id."),
    FAILED_BEFORE(
            NcclResult.REMOTE_ERROR,
            "An earlier operation on this communicator failed, ran out of time or was interrupted;"
                    + " the sentence ends with the reason. The code is that of the first failure.",
            "Destroy or abort the communicator. When the reason is mended, make a new one by a "
                    + "new unique id."),
    STREAM_NOT_NULL(
            NcclResult.INVALID_ARGUMENT,
            "A stream was passed, but a host communicator has none.",
            "Pass NULL (in Python None) as the stream."),
    STREAM_UNKNOWN(
            NcclResult.INVALID_ARGUMENT,
            "The stream is none of the communicator's device: it has been destroyed, or belongs to"
                    + " another device.",
            "Pass a stream that was made on the communicator's device and lives, or NULL for its"
                    + " default stream."),
    BUFFER_KIND(
            NcclResult.INVALID_ARGUMENT,
            "A buffer of the host was passed to a communicator on a device, or one of a device to"
                    + " another device or to a host communicator; or it ends before the call's"
                    + " elements do.",
            "Allocate the buffer where the communicator is, or make the communicator where the"
                    + " buffers are (JCCL_DEVICE)."),
    DEVICE_UNKNOWN(
            NcclResult.INVALID_ARGUMENT,
            "JCCL_DEVICE, or the configuration, names a device that this process does not have, or"
                    + " a module that is not there.",
            "Use host, or a device that the sentence lists; a child of a split is where its parent"
                    + " is."),
    TOO_MUCH_STAGED(
            NcclResult.INVALID_USAGE,
            "Calls on a device that are under way at once need more staging memory than a"
                    + " communicator may use.",
            "Synchronize the stream more often, or divide the call."),
    CONFIG_NOT_INITIALIZED(
            NcclResult.INVALID_ARGUMENT,
            "The ncclConfig_t does not begin as NCCL_CONFIG_INITIALIZER makes it, or its size "
                    + "is none that this version knows.",
            "Begin with ncclConfig_t config = NCCL_CONFIG_INITIALIZER, and compile against the "
                    + "header of this JCCL."),
    CONFIG_VALUE(
            NcclResult.INVALID_ARGUMENT,
            "A field of the configuration has a value that it cannot have.",
            "Leave the field at its initial value, or use one of the range that the sentence "
                    + "states."),
    TIME_LIMIT_NEGATIVE(
            NcclResult.INVALID_ARGUMENT,
            "A time limit is below zero.",
            "Pass zero for no limit, or a positive time."),
    RANK_COUNT(
            NcclResult.INVALID_ARGUMENT,
            "The number of ranks or devices is zero or negative.",
            "Pass the number of ranks that take part, the same on all of them."),
    RANK_OUTSIDE(
            NcclResult.INVALID_ARGUMENT,
            "The rank of this process does not lie between 0 and the number of ranks less one.",
            "Number the ranks from 0 on; check RANK and WORLD_SIZE of the launcher."),
    ID_COUNT(
            NcclResult.INVALID_ARGUMENT,
            "ncclCommInitRankScalable got no unique id, or more of them than ranks.",
            "Pass between 1 and nranks ids."),
    DEVICE_NUMBER(
            NcclResult.INVALID_ARGUMENT,
            "The list of devices has a negative number.",
            "Number the devices from 0 on, or pass NULL for the first ones."),
    DEVICE_TWICE(
            NcclResult.INVALID_USAGE,
            "ncclCommInitAll makes one rank for each device, and one device is listed twice.",
            "List each device once."),
    NOT_DONE_YET(
            NcclResult.INVALID_USAGE,
            "The function is one of NCCL that this version of JCCL does not offer yet.",
            "See the list in DIFFERENCES.md. Gather, scatter and all-to-all can be made of sends "
                    + "and receives in a group."),
    TYPE_UNKNOWN(
            NcclResult.INVALID_ARGUMENT,
            "The number is no value of ncclDataType_t.",
            "Pass a value of that enum; check the order of the arguments."),
    REDUCTION_UNKNOWN(
            NcclResult.INVALID_ARGUMENT,
            "The number is no reduction that this version of JCCL offers.",
            "Use ncclSum, ncclProd, ncclMax, ncclMin or ncclAvg; check the order of the"
                    + " arguments."),
    REDUCTION_ENDED(
            NcclResult.INVALID_ARGUMENT,
            "The reduction was destroyed, or belongs to another communicator.",
            "Create it on the communicator of the call, and destroy it after the last call."),
    REDUCTION_TYPE(
            NcclResult.INVALID_ARGUMENT,
            "A factor has one element type, and the call another.",
            "Create one reduction for each element type."),
    RESIDENCE_UNKNOWN(
            NcclResult.INVALID_ARGUMENT,
            "The number is no value of ncclScalarResidence_t.",
            "Pass ncclScalarHostImmediate or ncclScalarDevice; check the order of the arguments."),
    NOT_ALLOCATED(
            NcclResult.INVALID_ARGUMENT,
            "The address was not given by ncclMemAlloc, or has been freed.",
            "Free what ncclMemAlloc wrote, once."),
    ROOT_OR_PEER(
            NcclResult.INVALID_ARGUMENT,
            "The root, or the peer of a send or receive, is no rank of this communicator.",
            "Pass a rank of this communicator; those of a child communicator are numbered anew."),
    COUNT_OVERFLOW(
            NcclResult.INVALID_ARGUMENT,
            "The count times the size of an element is more than an address space holds.",
            "Pass the number of elements, not of bytes, and no negative number."),
    COUNT_UNFIT(
            NcclResult.INVALID_ARGUMENT,
            "The number of elements does not fit the buffer or the type.",
            "Pass a count between zero and what the buffer holds."),
    BUFFER_ON_HEAP(
            NcclResult.INVALID_ARGUMENT,
            "The Java array or segment lies on the heap, where the collector may move it.",
            "Allocate the buffer from an Arena."),
    BUFFER_TOO_SMALL(
            NcclResult.INVALID_ARGUMENT,
            "The buffer holds fewer bytes than the operation reads or writes.",
            "Allocate as many elements as the sentence names; gathers need nRanks times the "
                    + "count."),
    ARENA_CLOSED(
            NcclResult.INVALID_ARGUMENT,
            "The arena that the buffer came from is closed, so that the memory is gone.",
            "Keep the arena open until the operation is complete."),
    BUFFER_READ_ONLY(
            NcclResult.INVALID_ARGUMENT,
            "The operation writes into a buffer that is read-only.",
            "Pass a buffer that may be written."),
    BUFFERS_OVERLAP(
            NcclResult.INVALID_ARGUMENT,
            "Send and receive buffer share bytes, but not as an operation in place does.",
            "Let them lie apart, or exactly as the sentence says."),
    TOO_LARGE(
            NcclResult.INVALID_USAGE,
            "One call moves more than JCCL plans for, 64 GiB divided by the number of ranks.",
            "Call the operation several times, for a part each."),
    TOO_MANY_RANKS(
            NcclResult.INVALID_USAGE,
            "AlltoAll and Scatter move a part for each rank at a time: an element of each has to"
                    + " fit into 256 KiB.",
            "Call the operation for an eighth as large elements and eight times as many of them, or"
                    + " send and receive."),
    TOO_MANY_PENDING(
            NcclResult.INVALID_USAGE,
            "There are more operations under way or in a group, communicators or created reductions"
                + " than JCCL keeps. The last one was refused; all others go on.",
            "Wait for operations (ncclCommGetAsyncError, or the handle of each), or destroy "
                    + "communicators or reductions, before you add more."),
    SPLIT_COLOR(
            NcclResult.INVALID_ARGUMENT,
            "The colour of a split is negative and not NCCL_SPLIT_NOCOLOR.",
            "Pass a colour of 0 and more, or NCCL_SPLIT_NOCOLOR to take part without becoming a"
                    + " member."),
    GROUP_MIXED(
            NcclResult.INVALID_ARGUMENT,
            "One group makes, changes or uses blocking and non-blocking communicators.",
            "Use one group for each sort, or the same blocking setting for all."),
    GROUP_NOT_OPEN(
            NcclResult.INVALID_USAGE,
            "A group was closed that this thread had not opened.",
            "Pair ncclGroupStart and ncclGroupEnd on the same thread."),
    GROUP_ABANDONED(
            NcclResult.INVALID_USAGE,
            "The body of a group threw an exception, so that nothing of the group was launched.",
            "Mend what the exception says, and make all calls of the group again."),
    ENDED_HERE(
            NcclResult.INVALID_USAGE,
            "A thread waited for an operation while another one of the same rank destroyed or "
                    + "aborted the communicator.",
            "End a communicator after its operations, or expect this code in the threads that "
                    + "wait."),
    ABORTED(
            NcclResult.REMOTE_ERROR,
            "The rank that the sentence names called ncclCommAbort; its peers get this, too.",
            "Look at that rank for why it aborted. Destroy or abort this communicator."),
    INTERRUPTED(
            NcclResult.REMOTE_ERROR,
            "The user of the rank that the sentence names interrupted it, as by Ctrl-C.",
            "Nothing is wrong with this rank. Destroy the communicator."),
    ENDED_NORMALLY(
            NcclResult.REMOTE_ERROR,
            "The process of the rank ended while a thread of it still waited in an operation.",
            "Let a program wait for its operations and destroy its communicators before it "
                    + "ends."),
    NOT_PARKED(
            NcclResult.INVALID_USAGE,
            "A binding asked to go on with a call that waits, but this thread has none.",
            "This is an error of a binding; with the bindings of JCCL please report it."),
    STARTED_UNKNOWN(
            NcclResult.INVALID_ARGUMENT,
            "A binding started an operation by a number that is none, or asked for one by a "
                    + "ticket that was never given.",
            "Pass the ticket that jcclStart wrote, for the same communicator."),
    ID_SIZE(
            NcclResult.INVALID_ARGUMENT,
            "A unique id has another size than 128 bytes.",
            "Hand the id on whole, as bytes and not as text."),
    ID_FOREIGN(
            NcclResult.INVALID_ARGUMENT,
            "The bytes are no unique id of this version of JCCL.",
            "Call ncclGetUniqueId on one rank and hand all 128 bytes to the others; load the "
                    + "same library on all."),
    ID_DAMAGED(
            NcclResult.INVALID_ARGUMENT,
            "The bytes begin like a unique id, but what follows is not what was made.",
            "Hand the id on whole and unchanged."),
    ID_USED(
            NcclResult.INVALID_USAGE,
            "The unique id has made its communicator, or its one rank has come, and it makes no"
                    + " second one.",
            "Call ncclGetUniqueId for each communicator."),
    ADDRESS_INVALID(
            NcclResult.INVALID_ARGUMENT,
            "A text or some bytes are no address of a machine.",
            "Write 10.0.0.1:4000 or [fe80::1]:4000.");

    private final NcclResult result;

    // A record of two texts does not change.
    @SuppressWarnings("ImmutableEnumChecker")
    private final Explanation explanation;

    CallError(NcclResult result, String cause, String cure) {
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
