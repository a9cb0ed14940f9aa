package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.comm.Operations;
import org.jccl.call.Call;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Completions;
import org.jccl.executor.Task;
import org.jccl.group.Group;
import org.jccl.platform.Memory;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Completions;
import org.jccl.progress.StreamAgent;
import org.jccl.progress.Wait;
import org.jccl.type.CallError;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;

/** Operations that are started and polled, for {@link NcclApi}. */
final class Started {
    private static final long MS = 1_000_000;

    private Started() {}

    static int start(Call call, long handle, int ms, long ticketOut) {
        Comm comm = null;
        try {
            Operation op = call.operation();
            comm = Handles.get(handle, op.ncclName());
            Checked.pointer("Start", "ticket", ticketOut);
            return started(comm, call, ms, ticketOut);
        } catch (Throwable t) {
            return NcclApi.refused(comm, t);
        }
    }

    /** The operation that a caller means. */
    static Operation operation(String function, int number) {
        Operation op = Operation.of(number);
        if (op == null) {
            throw CallError.STARTED_UNKNOWN.says("%s : invalid operation %s", function, number);
        }
        return op;
    }

    static int startComposed(ComposedCall words, long handle, int ms, long ticketOut) {
        Comm comm = null;
        try {
            Operation op = operation("StartComposed", words.operation());
            comm = Handles.get(handle, op.ncclName());
            Checked.pointer("StartComposed", "ticket", ticketOut);
            comm.ensureReady();
            return started(comm, words.read(comm, op), ms, ticketOut);
        } catch (Throwable t) {
            return NcclApi.refused(comm, t);
        }
    }

    private static int started(Comm comm, Call call, int ms, long ticketOut) {
        long ticket = Operations.start(comm, call, ms);
        Memory.putLong(ticketOut, ticket);
        return ticket == 0 ? NcclApi.SUCCESS : NcclApi.IN_PROGRESS;
    }

    static int poll(long handle, long ticket, int ms) {
        try {
            CommExecutor executor = Handles.get(handle, "Poll").executor();
            if (!executor.tickets().known(ticket)) {
                throw CallError.STARTED_UNKNOWN.says("Poll : ticket %s was never given", ticket);
            }
            Task task = executor.tickets().task(ticket);
            if (task == null) {
                return NcclApi.SUCCESS;
            }
            boolean over =
                    ms <= 0
                            ? executor.look(task)
                            : Wait.of(executor, task).await(System.nanoTime() + ms * MS);
            if (!over) {
                return NcclApi.IN_PROGRESS;
            }
            NcclException failed = task.failure();
            if (task.state() == Task.FAILED && failed != null) {
                // Not forgotten: whoever else asks for it must not take it for done.
                throw failed;
            }
            executor.tickets().forget(ticket);
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.failed(t);
        }
    }

    static int abandonGroup() {
        try {
            Group.current()
                    .remember(
                            CallError.GROUP_ABANDONED.says(
                                    "the body of a group threw an exception, so that nothing of the"
                                            + " group was launched"));
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.failed(t);
        }
    }

    static int waitCompletion(long seen, int ms, long now) {
        try {
            Checked.pointer("WaitCompletion", "now", now);
            Memory.putLong(now, Completions.await(seen, ms));
            return NcclApi.SUCCESS;
        } catch (Throwable t) {
            return NcclApi.refused(t);
        }
    }
}
