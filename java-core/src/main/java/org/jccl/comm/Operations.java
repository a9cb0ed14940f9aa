package org.jccl.comm;

import org.jccl.executor.CommExecutor;
import org.jccl.executor.Composed;
import org.jccl.executor.Plan;
import org.jccl.executor.Task;
import org.jccl.executor.Waiter;
import org.jccl.group.Call;
import org.jccl.group.Group;
import org.jccl.type.CallError;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

/**
 * The operations of a communicator, for callers that have checked their numbers and addresses:
 * queued while the thread's group is open, else run or submitted.
 */
public final class Operations {
    private Operations() {}

    /** What a split or a group left behind is not known to the executor, which else refuses. */
    private static void requireUsable(Comm comm) {
        comm.ensureReady();
        NcclException failed = comm.ownFailure();
        if (failed != null) {
            throw failed;
        }
    }

    /**
     * A collective call with checked numbers.
     *
     * @param stream of the communicator's device; 0 on the host
     * @return null if it is complete, else what the caller waits for
     * @throws NcclException if the communicator takes no call, the buffers overlap, the call is too
     *     large, too many operations are under way or queued, or the operation has failed already
     */
    public static @Nullable Call collective(
            Comm comm,
            Operation op,
            long in,
            long out,
            long count,
            DataType type,
            int redOp,
            int root,
            long stream) {
        requireUsable(comm);
        CommExecutor ex = comm.executor();
        Plan plan =
                comm.planner()
                        .plan(
                                op,
                                count,
                                type,
                                root,
                                Buffers.inPlace(comm, op, in, out, count, type, root));
        Group group = Group.current();
        if (group.open() || !comm.blocking() || ex.onDevice()) {
            Task task = new Task().collective(op, plan, in, out, count, type.number(), redOp, root);
            return begin(comm, ex, group, task.inStream(stream));
        }
        Task task = ex.collective(op, plan, in, out, count, type.number(), redOp, root);
        return task == null ? null : comm.call(task);
    }

    /**
     * A send or receive with checked numbers.
     *
     * @param stream of the communicator's device; 0 on the host
     * @return null if it is complete, else what the caller waits for
     * @throws NcclException if the communicator takes no call, too many operations are under way or
     *     queued, or the operation has failed already
     */
    public static @Nullable Call pointToPoint(
            Comm comm,
            Operation op,
            long buffer,
            long count,
            DataType type,
            int peer,
            long stream) {
        requireUsable(comm);
        CommExecutor ex = comm.executor();
        boolean send = op == Operation.SEND;
        Task task =
                new Task()
                        .pointToPoint(
                                op,
                                send ? buffer : 0,
                                send ? 0 : buffer,
                                count,
                                count * type.sizeBytes(),
                                type.number(),
                                peer);
        return begin(comm, ex, Group.current(), task.inStream(stream));
    }

    private static @Nullable Call begin(Comm comm, CommExecutor ex, Group group, Task task) {
        if (group.open()) {
            queue(comm, group, task);
            return null;
        }
        ex.submit(task);
        if (ex.onDevice()) {
            ex.awaitInStream(task);
            return null;
        }
        if (Waiter.look(ex, task)) {
            NcclException failed = task.failure();
            if (failed != null) {
                throw failed;
            }
            return null;
        }
        return new TaskCall(comm, task);
    }

    /** A call on a communicator that has failed says so, and not only its group's end. */
    private static void queue(Comm comm, Group group, Task task) {
        comm.ensureUnbroken();
        group.add(comm, task);
    }

    /**
     * Submits a collective or a send/receive.
     *
     * @param ms how long to wait for its end, as of {@link CommExecutor#start}
     * @param composed what it does besides; not null for operations that exchange
     * @return 0 if it is already complete, or queued in the thread's group; else its ticket
     * @throws NcclException as of {@link #collective} and {@link #pointToPoint}
     */
    public static long start(
            Comm comm,
            Operation op,
            long in,
            long out,
            long count,
            DataType type,
            int redOp,
            int root,
            @Nullable Composed composed,
            int ms) {
        requireUsable(comm);
        CommExecutor ex = comm.executor();
        if (composed != null && ex.onDevice()) {
            throw CallError.NOT_DONE_YET.says(
                    "jcclStartComposed is not done yet on a device; see DIFFERENCES.md");
        }
        Task task = new Task().composed(composed);
        if (op.pointToPoint()) {
            task.pointToPoint(op, in, out, count, count * type.sizeBytes(), type.number(), root);
        } else if (op.exchanges()) {
            Plan plan = comm.planner().exchange(op);
            task.collective(op, plan, 0, 0, count, type.number(), 0, root);
        } else {
            boolean inPlace = Buffers.inPlace(comm, op, in, out, count, type, root);
            Plan plan = comm.planner().plan(op, count, type, root, inPlace);
            task.collective(op, plan, in, out, count, type.number(), redOp, root);
        }
        Group group = Group.current();
        if (group.open()) {
            task.setStarted();
            queue(comm, group, task);
            return 0;
        }
        return ex.start(task, ms);
    }
}
