package org.jccl.comm;

import org.jccl.executor.Task;
import org.jccl.group.Pending;
import org.jccl.progress.Wait;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;

/** One operation to wait for. */
final class PendingTask implements Pending {
    private final Comm comm;
    private final Task task;
    private final Wait wait;

    PendingTask(Comm comm, Task task) {
        this.comm = comm;
        this.task = task;
        this.wait = Wait.of(comm.executor(), task);
    }

    boolean isFor(Task other) {
        return task == other;
    }

    @Override
    public boolean await(long untilNs) {
        return wait.await(untilNs);
    }

    @Override
    public NcclResult result() {
        NcclException failed = task.failure();
        boolean well = task.state() == Task.DONE;
        comm.executor().seen(task);
        if (!well && failed != null) {
            throw failed;
        }
        return NcclResult.SUCCESS;
    }

    @Override
    public void interrupt() {
        comm.interrupt();
    }
}
