package org.jccl.group;

import org.jccl.executor.Task;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Parting;
import org.jccl.progress.Wait;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jspecify.annotations.Nullable;

import java.lang.ref.Reference;
import java.util.List;
import java.util.Set;

/** A launched group: its operations and background tasks, as one call to wait for. */
public final class Launch implements Pending {
    private static final long JOB_TURN_NS = 1_000_000;

    private final List<CommExecutor> executors;
    private final List<Task> tasks;
    private final Wait wait;
    private final List<Group.GroupJob> jobs;
    private final boolean blocking;
    private final @Nullable NcclException failed;

    /** What the user may have lost already and must live to the end; the group's thread only. */
    private Set<Object> kept = Set.of();

    Launch(
            List<CommExecutor> executors,
            List<Task> tasks,
            List<Group.GroupJob> jobs,
            boolean blocking,
            @Nullable NcclException failed) {
        this.executors = executors;
        this.tasks = tasks;
        this.wait = Wait.ofAll(executors, tasks);
        this.jobs = jobs;
        this.blocking = blocking;
        this.failed = failed;
    }

    void keep(Set<Object> objects) {
        kept = objects;
    }

    /** Whether the outermost end waits. */
    public boolean blocking() {
        return blocking;
    }

    /** The communicators of the operations, in the order of the calls. */
    public List<CommExecutor> executors() {
        return executors;
    }

    /** The operations in the order of the calls. */
    public List<Task> tasks() {
        return tasks;
    }

    /**
     * Throws what kept an operation from being submitted.
     *
     * @throws NcclException if one was refused; the others are under way
     */
    void requireSubmitted() {
        if (failed != null) {
            throw failed;
        }
    }

    /**
     * Goes as far as possible without waiting; whether everything is over, which a group with jobs
     * never is so soon.
     */
    public boolean look() {
        return wait.look() && jobs.isEmpty();
    }

    @Override
    public boolean await(long untilNs) {
        while (!jobsOver()) {
            if (untilNs != 0 && System.nanoTime() - untilNs >= 0) {
                return false;
            }
            // What the group waits for beside them has peers and limits, too.
            wait.look();
        }
        return wait.await(untilNs);
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
        if (why != null) {
            throw why;
        }
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
