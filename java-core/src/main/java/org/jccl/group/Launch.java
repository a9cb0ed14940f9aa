package org.jccl.group;

import org.jccl.executor.Task;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Parting;
import org.jccl.progress.StreamAgent;
import org.jccl.progress.Wait;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jspecify.annotations.Nullable;

import java.lang.ref.Reference;
import java.util.List;
import java.util.Set;

/**
 * A launched group: its operations and background tasks, as one call to wait for.
 *
 * @param executors the communicator of each operation
 * @param tasks the operations, in the order of the calls
 * @param waiting the wait for all operations
 * @param jobs the background tasks
 * @param blocking whether the outermost end waits
 * @param failed why an operation was not submitted; the others are under way
 * @param kept what must live to the end, though the user may have lost it already
 */
public record Launch(
        List<CommExecutor> executors,
        List<Task> tasks,
        Wait waiting,
        List<Group.GroupJob> jobs,
        boolean blocking,
        @Nullable NcclException failed,
        Set<Object> kept)
        implements Pending {
    private static final long JOB_TURN_NS = 1_000_000;

    /**
     * Leaves it to other threads, for an outermost end that does not wait.
     *
     * @return IN_PROGRESS
     * @throws NcclException why an operation was not submitted
     */
    public NcclResult leave() {
        for (CommExecutor executor : executors) {
            StreamAgent.attend(executor);
        }
        NcclException.throwIfAny(failed);
        return NcclResult.IN_PROGRESS;
    }

    /**
     * Goes as far as possible without waiting.
     *
     * @return whether everything is over; false if there are jobs, which take longer
     */
    public boolean look() {
        return waiting.look() && jobs.isEmpty();
    }

    @Override
    public boolean await(long untilNs) {
        while (!jobsOver()) {
            if (untilNs != 0 && System.nanoTime() - untilNs >= 0) {
                return false;
            }
            // The operations beside the jobs have peers and limits, too.
            waiting.look();
        }
        return waiting.await(untilNs);
    }

    /** Gives every job that this thread runs a turn, since they may wait for each other. */
    private boolean jobsOver() {
        boolean over = true;
        for (Group.GroupJob job : jobs) {
            long turn = System.nanoTime() + JOB_TURN_NS / jobs.size();
            over &= job.await(turn);
        }
        return over;
    }

    @Override
    public NcclResult result() {
        try {
            return firstResult();
        } finally {
            Reference.reachabilityFence(kept);
        }
    }

    private NcclResult firstResult() {
        NcclException why = failed;
        for (Task task : tasks) {
            if (why == null && task.state() == Task.FAILED) {
                why = task.failure();
            }
        }
        for (Group.GroupJob job : jobs) {
            try {
                job.result();
            } catch (NcclException e) {
                why = why == null ? e : why;
            }
        }
        NcclException.throwIfAny(why);
        return NcclResult.SUCCESS;
    }

    @Override
    public void interrupt() {
        for (int i = 0; i < tasks.size(); i++) {
            if (!tasks.get(i).over()) {
                Parting.interrupt(executors.get(i));
            }
        }
        jobs.forEach(Pending::interrupt);
    }
}
