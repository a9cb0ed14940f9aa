package org.jccl.comm;

import org.jccl.call.Call;
import org.jccl.executor.Task;
import org.jccl.group.Group;
import org.jccl.group.Pending;
import org.jccl.plan.Plan;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Submission;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

/**
 * The operations of a communicator, for callers that have had their calls checked by {@link
 * Checks}: queued while the thread's group is open, else run or submitted.
 */
public final class Operations {
    private Operations() {}

    /** What a split or a group left behind is not known to the executor, which else refuses. */
    private static void requireUsable(Comm comm) {
        NcclException failed = comm.ownFailure();
        if (failed != null) {
            throw failed;
        }
    }

    /**
     * Begins a call.
     *
     * @return null if it is complete, else what the caller waits for
     * @throws NcclException if the communicator has failed, the buffers overlap, the call is too
     *     large, too many operations are under way or queued, or the operation has failed already
     */
    public static @Nullable Pending run(Comm comm, Call call) {
        requireUsable(comm);
        CommExecutor ex = comm.executor();
        Plan plan = plan(comm, call);
        Group group = Group.current();
        if (group.open()) {
            queue(comm, group, new Task().of(call, plan));
            return null;
        }
        Task task = Submission.run(ex, call, plan, comm.blocking());
        return task == null ? null : comm.pending(task);
    }

    /** The plan of a collective; null for a send or receive, which has none. */
    private static @Nullable Plan plan(Comm comm, Call call) {
        Operation op = call.operation();
        if (op.pointToPoint()) {
            return null;
        }
        return call.exchanges()
                ? comm.planner().exchange(op)
                : comm.planner().plan(call, Checks.inPlace(comm, call) && call.factor() == null);
    }

    /** A call on a communicator that has failed says so, and not only its group's end. */
    private static void queue(Comm comm, Group group, Task task) {
        comm.ensureUnbroken();
        group.add(comm, task);
    }

    /**
     * Submits a call.
     *
     * @param ms how long to wait for its end, as of {@link Submission#start}
     * @return 0 if it is already complete, or queued in the thread's group; else its ticket
     * @throws NcclException as of {@link #run}
     */
    public static long start(Comm comm, Call call, int ms) {
        requireUsable(comm);
        CommExecutor ex = comm.executor();
        Task task = new Task().of(call, plan(comm, call));
        // The thread keeps the call, but not what belongs to this one.
        call.composed(null);
        Group group = Group.current();
        if (group.open()) {
            task.setStarted();
            queue(comm, group, task);
            return 0;
        }
        return Submission.start(ex, task, ms);
    }
}
