package org.jccl.comm;

import org.jccl.executor.Task;
import org.jccl.group.Pending;
import org.jccl.progress.Wait;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;

/** One operation to wait for. */
record PendingTask(Comm comm, Task task, Wait waiting) implements Pending {
    @Override
    public boolean await(long untilNs) {
        return waiting.await(untilNs);
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
