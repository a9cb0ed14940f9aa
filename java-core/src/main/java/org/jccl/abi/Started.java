package org.jccl.abi;

import org.jccl.call.Call;
import org.jccl.comm.Comm;
import org.jccl.comm.Operations;
import org.jccl.executor.Task;
import org.jccl.platform.Memory;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Submission;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Operation;

/** Operations that are started and polled. */
final class Started {

    private Started() {}

    /** The operation with this number. */
    static Operation operation(String function, int number) {
        Operation op = Operation.of(number);
        if (op == null) {
            throw ErrorKind.STARTED_UNKNOWN.says("%s : invalid operation %s", function, number);
        }
        return op;
    }

    static NcclResult start(Call call, long handle, int ms, long ticketOut) {
        Comm comm = Handles.get(handle, call.operation().ncclName());
        Checked.pointer("Start", "ticket", ticketOut);
        return start(comm, call, ms, ticketOut);
    }

    static NcclResult start(ComposedCall words, long handle, int ms, long ticketOut) {
        Operation op = operation("StartComposed", words.operation());
        Comm comm = Handles.get(handle, op.ncclName());
        Checked.pointer("StartComposed", "ticket", ticketOut);
        comm.ensureReady();
        return start(comm, words.read(comm, op), ms, ticketOut);
    }

    private static NcclResult start(Comm comm, Call call, int ms, long ticketOut) {
        long ticket = Operations.start(comm, call, ms);
        Memory.putLong(ticketOut, ticket);
        return ticket == 0 ? NcclResult.SUCCESS : NcclResult.IN_PROGRESS;
    }

    static NcclResult poll(long handle, long ticket, int ms) {
        CommExecutor executor = Handles.get(handle, "Poll").executor();
        Task task = executor.tickets().task(ticket);
        if (task == null) {
            requireKnown(executor, ticket);
            return NcclResult.SUCCESS;
        }
        boolean over =
                ms < 0 ? Submission.watch(executor, task) : Submission.lend(executor, task, ms);
        if (!over) {
            return NcclResult.IN_PROGRESS;
        }
        NcclException.throwIfAny(task.failure());
        return NcclResult.SUCCESS;
    }

    private static void requireKnown(CommExecutor executor, long ticket) {
        if (!executor.tickets().known(ticket)) {
            throw ErrorKind.STARTED_UNKNOWN.says("Poll : ticket %s was never given", ticket);
        }
    }
}
