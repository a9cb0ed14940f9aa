package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.comm.Operations;
import org.jccl.executor.Call;
import org.jccl.executor.CommExecutor;
import org.jccl.executor.Completions;
import org.jccl.executor.StreamAgent;
import org.jccl.executor.Task;
import org.jccl.executor.Waiter;
import org.jccl.group.Group;
import org.jccl.group.Launch;
import org.jccl.platform.Memory;
import org.jccl.type.CallError;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Operations and groups that are started and polled, for {@link NcclApi}. */
final class Started {
    private static final long MS = 1_000_000;

    /** Marks tickets of groups, which are process-wide, among those of operations. */
    private static final long GROUP_MARK = 1L << 62;

    /** So many groups may be under way, or have failed without being polled. */
    static final int MOST_GROUPS = 1 << 16;

    /** Groups not known to have succeeded, the failed ones as long as their communicators. */
    private static final Map<Long, Launch> GROUPS = new ConcurrentHashMap<>();

    private static final AtomicLong LAST_GROUP = new AtomicLong();

    /** How many groups there are when those for which nobody asks are looked for. */
    private static final AtomicInteger SWEEP_AT = new AtomicInteger(1);

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
            if ((ticket & GROUP_MARK) != 0) {
                return pollGroup(handle, ticket, ms);
            }
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
                            ? Waiter.look(executor, task)
                            : Waiter.await(executor, task, System.nanoTime() + ms * MS);
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

    private static int pollGroup(long handle, long ticket, int ms) {
        Launch launch = GROUPS.get(ticket);
        if (launch == null) {
            if ((ticket & ~GROUP_MARK) > LAST_GROUP.get()) {
                throw CallError.STARTED_UNKNOWN.says("Poll : ticket %s was never given", ticket);
            }
            Handles.get(handle, "Poll");
            return NcclApi.SUCCESS;
        }
        boolean over = ms <= 0 ? launch.poll() : launch.await(System.nanoTime() + ms * MS);
        if (!over) {
            return NcclApi.IN_PROGRESS;
        }
        // One that has failed throws here and stays, as the operation in poll.
        int code = launch.result().code();
        GROUPS.remove(ticket);
        return code;
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

    static int endGroup(long handle, long ticketOut) {
        try {
            NcclException wrong = wrongEnd(handle, ticketOut);
            if (wrong != null) {
                Group.current().remember(wrong);
            }
            Launch launch = Group.current().end();
            if (wrong != null) {
                throw wrong;
            }
            if (launch == null) {
                return NcclApi.SUCCESS;
            }
            if (launch.look()) {
                return launch.result().code();
            }
            long ticket = GROUP_MARK | LAST_GROUP.incrementAndGet();
            GROUPS.put(ticket, launch);
            Memory.putLong(ticketOut, ticket);
            for (CommExecutor executor : launch.executors()) {
                StreamAgent.attend(executor);
            }
            return NcclApi.IN_PROGRESS;
        } catch (Throwable t) {
            return NcclApi.refused(t);
        }
    }

    /** What is wrong with the arguments of a group's end, which closes the group all the same. */
    private static @Nullable NcclException wrongEnd(long handle, long ticketOut) {
        try {
            Checked.pointer("EndGroup", "ticket", ticketOut);
            Memory.putLong(ticketOut, 0);
            Handles.get(handle, "EndGroup");
            requireRoom();
            return null;
        } catch (NcclException wrong) {
            return wrong;
        }
    }

    /** Forgets groups for which nobody needs to ask, each time that their number has doubled. */
    private static void requireRoom() {
        if (GROUPS.size() < SWEEP_AT.get()) {
            return;
        }
        GROUPS.values().removeIf(Launch::forgettable);
        SWEEP_AT.set(Math.clamp(2L * GROUPS.size(), 1, MOST_GROUPS));
        if (GROUPS.size() >= MOST_GROUPS) {
            throw CallError.TOO_MANY_PENDING.says(
                    "EndGroup : %s groups are under way or have failed; poll each to its " + "end",
                    MOST_GROUPS);
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
