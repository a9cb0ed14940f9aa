package org.jccl.comm;

import org.jccl.call.Call;
import org.jccl.device.Device;
import org.jccl.device.Devices;
import org.jccl.executor.Task;
import org.jccl.group.Group;
import org.jccl.group.Pending;
import org.jccl.plan.Plan;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Parting;
import org.jccl.progress.Submission;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jccl.type.PreMulSum;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

/**
 * The operations of a communicator: what NCCL demands of the numbers and addresses of a call, and
 * its beginning. A call is queued while the thread's group is open, else it runs or is submitted.
 */
public final class Operations {
    private Operations() {}

    /**
     * Checks a call and begins it.
     *
     * @return as of {@link #begin}
     * @throws NcclException as of {@link #check} and {@link #begin}
     */
    public static @Nullable Pending run(Comm comm, Call call) {
        Plan plan = known(comm, call);
        if (plan == null) {
            check(comm, call);
            return begin(comm, call);
        }
        return begin(comm, call, plan);
    }

    /**
     * The plan of a call in host memory that differs from one before, which was checked, in its
     * addresses alone. Null if there was none, or if anything else has to be looked at.
     */
    private static @Nullable Plan known(Comm comm, Call call) {
        boolean host = comm.device() == null && call.stream() == 0 && Devices.IN_USE.isEmpty();
        boolean full = call.input() != 0 && call.output() != 0;
        return host && full && comm.takesCalls() ? comm.planner().known(call) : null;
    }

    /**
     * Begins a call that has been checked.
     *
     * @return null if it is complete, else what the caller waits for
     * @throws NcclException if the communicator has failed, the buffers overlap, the call is too
     *     large, too many operations are under way or queued, or the operation has failed already
     */
    public static @Nullable Pending begin(Comm comm, Call call) {
        // Of a split or group; the executor knows all other failures.
        NcclException.throwIfAny(comm.life.failure);
        return begin(comm, call, plan(comm, call));
    }

    private static @Nullable Pending begin(Comm comm, Call call, @Nullable Plan plan) {
        Group group = Group.current();
        CommExecutor executor = comm.executor();
        if (group.open()) {
            queue(comm, group, Submission.task(executor, call, plan));
            return null;
        }
        Task task =
                plan != null && comm.blocking() && executor.callersWait()
                        ? executor.collective(call, plan)
                        : Submission.run(executor, call, plan);
        try {
            return task == null ? null : comm.pending(task);
        } catch (RuntimeException | Error e) {
            Parting.tear(executor);
            throw e;
        }
    }

    /** The plan of a collective; null for a send or receive, which has none. */
    private static @Nullable Plan plan(Comm comm, Call call) {
        Operation op = call.operation();
        if (op.pointToPoint()) {
            return null;
        }
        if (call.exchanges()) {
            return comm.planner().exchange(op);
        }
        boolean inPlace = inPlace(comm, call);
        return comm.runsOnDevices(call)
                ? comm.planner().exchange(op)
                : comm.planner().plan(call, inPlace && call.factor() == null);
    }

    /** A call on a communicator that has failed says so, and not only its group's end. */
    private static void queue(Comm comm, Group group, Task task) {
        comm.ensureUnbroken();
        group.add(comm, task);
    }

    /**
     * Checks a call and submits it.
     *
     * @param ms how long to wait for its end, as of {@link Submission#start}
     * @return 0 if it is already complete, or queued in the thread's group; else its ticket
     * @throws NcclException as of {@link #run}
     */
    public static long start(Comm comm, Call call, int ms) {
        Plan plan = call.composed() == null ? known(comm, call) : null;
        if (plan == null) {
            check(comm, call);
            // Of a split or group; the executor knows all other failures.
            NcclException.throwIfAny(comm.life.failure);
            plan = plan(comm, call);
        }
        Task task = new Task().of(call, plan);
        // The thread keeps the call, but not what belongs to this one.
        call.composed(null);
        Group group = Group.current();
        if (group.open()) {
            queue(comm, group, task);
            return 0;
        }
        return Submission.start(comm.executor(), task, ms);
    }

    /**
     * The task of a call that has been checked, for {@link #start(Comm, Task)}.
     *
     * @throws NcclException as of {@link #begin}
     */
    public static Task task(Comm comm, Call call) {
        NcclException.throwIfAny(comm.life.failure);
        return new Task().of(call, plan(comm, call));
    }

    /**
     * Starts a task outside of a group. Nobody need wait for it; its end tells how it went.
     *
     * @throws NcclException as of {@link #begin}, but nothing once the call is under way
     */
    public static void start(Comm comm, Task task) {
        Submission.start(comm.executor(), task);
    }

    /**
     * Checks a call whose caller has numbers and addresses, and that the communicator takes calls.
     *
     * @throws NcclException INVALID_ARGUMENT if anything is wrong with it, or why there is no call
     */
    public static void check(Comm comm, Call call) {
        numbers(comm, call);
        count(comm, call);
        // The transfers of an exchange have the buffers, each checked by itself.
        if (!call.exchanges()) {
            buffers(comm, call);
        }
    }

    /**
     * Checks that what is read and written has addresses and is of the right kind.
     *
     * @throws NcclException INVALID_ARGUMENT if it does not, or is not
     */
    public static void buffers(Comm comm, Call call) {
        Operation op = call.operation();
        if (op.sends(comm.rank(), call.peer())) {
            buffer(comm, call, true);
        }
        if (op.receives(comm.rank(), call.peer())) {
            buffer(comm, call, false);
        }
    }

    /**
     * The part of {@link #check} without count and addresses. Forgets the numbers that mean nothing
     * to the operation.
     *
     * @throws NcclException as of {@link #check}
     */
    public static void numbers(Comm comm, Call call) {
        comm.ensureReady();
        Operation op = call.operation();
        stream(comm, call);
        type(call);
        if (op.reduces()) {
            reduction(comm, call);
        } else {
            call.reducedBy(0);
        }
        if (op.rooted() || op.pointToPoint()) {
            peer(comm, call);
        } else {
            call.with(0);
        }
    }

    private static void stream(Comm comm, Call call) {
        Device device = comm.device();
        long stream = call.stream();
        if (device == null ? stream == 0 : device.isStream(stream)) {
            return;
        }
        String called = called(call) + "stream 0x" + Long.toHexString(stream);
        throw device == null
                ? ErrorKind.STREAM_NOT_NULL.says(
                        "%s means nothing on host ranks; pass NULL (stream 0)", called)
                : ErrorKind.STREAM_UNKNOWN.says("%s is no stream of %s", called, device.name());
    }

    private static String called(Call call) {
        return "nccl" + call.operation().ncclName() + " : ";
    }

    private static void type(Call call) {
        int number = call.typeNumber();
        if (!DataType.isValid(number)) {
            throw ErrorKind.TYPE_UNKNOWN.says(
                    "%sinvalid type %s; use a value of ncclDataType_t", called(call), number);
        }
    }

    private static void reduction(Comm comm, Call call) {
        int number = call.redOp();
        if (RedOp.isValid(number)) {
            return;
        }
        PreMulSum op = comm.customOps().find(number);
        if (op == null) {
            throw CustomOps.unknown(called(call), number);
        }
        if (op.type() != call.type()) {
            throw ErrorKind.REDUCTION_TYPE.says(
                    "%sthe reduction operation was created for %s, not for %s",
                    called(call), op.type().ncclName(), call.type().ncclName());
        }
        call.premultipliedBy(op);
    }

    private static void peer(Comm comm, Call call) {
        int rank = call.peer();
        if (rank < 0 || rank >= comm.nRanks()) {
            throw ErrorKind.ROOT_OR_PEER.says(
                    "%sinvalid %s%s (must lie in [0, %s))",
                    called(call),
                    call.operation().pointToPoint() ? "peer " : "root ",
                    rank,
                    comm.nRanks());
        }
    }

    /** Whether a long holds the bytes of each buffer. */
    public static boolean fits(Comm comm, Call call) {
        long count = call.count();
        long parts = call.operation().size(1, comm.nRanks());
        return count >= 0 && count <= Long.MAX_VALUE / call.type().sizeBytes() / parts;
    }

    private static void count(Comm comm, Call call) {
        if (!fits(comm, call)) {
            throw ErrorKind.COUNT_OVERFLOW.says(
                    "%scount %s overflows the size of a buffer; count elements, not bytes",
                    called(call), Long.toUnsignedString(call.count()));
        }
    }

    /** A buffer has an address and is of the right kind, unless it is empty. */
    private static void buffer(Comm comm, Call call, boolean sent) {
        Operation op = call.operation();
        int nRanks = comm.nRanks();
        long part = call.partBytes();
        long bytes = sent ? op.inSize(part, nRanks) : op.outSize(part, nRanks);
        if (bytes == 0) {
            return;
        }
        String name = sent ? "sendbuff" : "recvbuff";
        long address = sent ? call.input() : call.output();
        if (address == 0) {
            throw ErrorKind.NULL_ARGUMENT.says(
                    "%s%s argument is NULL; pass a buffer, or a count of 0", called(call), name);
        }
        Device device = comm.device();
        String is;
        if (device == null) {
            Device owner = Devices.owner(address);
            if (owner == null) {
                return;
            }
            is = " is memory of " + owner.name() + ", but the communicator is on the host";
        } else if (device.owns(address, bytes)) {
            return;
        } else {
            is = " is not, or not whole, memory of " + device.name();
        }
        throw ErrorKind.BUFFER_KIND.says(
                "%s%s 0x%s of %s bytes%s",
                called(call), name, Long.toHexString(address), bytes, is);
    }

    /**
     * Whether the buffers are in place as NCCL defines it for the operation.
     *
     * @throws NcclException INVALID_ARGUMENT if they overlap in any other way; where only the root
     *     sends, sendbuff means nothing to the others
     */
    private static boolean inPlace(Comm comm, Call call) {
        Operation op = call.operation();
        long part = call.partBytes();
        int rank = comm.rank();
        boolean inPlace = call.input() - call.output() == op.inPlaceDistance(part, rank);
        if (!inPlace
                && call.overlap(op.inSize(part, comm.nRanks()), op.outSize(part, comm.nRanks()))
                && op.sends(rank, call.peer())
                && op.receives(rank, call.peer())) {
            throw overlap(call, rank, rank * part);
        }
        return inPlace;
    }

    private static NcclException overlap(Call call, int rank, long block) {
        Operation op = call.operation();
        long behind = call.output() - call.input();
        String rule =
                op.in() == op.out()
                        ? "sendbuff is recvbuff"
                        : op.out() == Operation.Parts.EACH
                                ? "sendbuff is " + block + " bytes after recvbuff"
                                : "recvbuff is " + block + " bytes after sendbuff";
        return ErrorKind.BUFFERS_OVERLAP.says(
                "%ssendbuff and recvbuff overlap, with recvbuff %s%s sendbuff; in "
                        + "place means on rank %s that %s",
                called(call),
                Math.abs(behind),
                behind < 0 ? " bytes before" : " bytes after",
                rank,
                rule);
    }
}
