package org.jccl.group;

import org.jccl.progress.Wait;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;

import java.lang.ref.Reference;

/**
 * A launched group: its operations and background tasks, as one call to wait for.
 *
 * @param waiting the wait for all operations
 * @param content the operations to wait for, what else the group holds, and why an operation was
 *     not submitted; the others are under way
 */
public record Launch(Wait waiting, Group.Content content) implements Pending {
    private static final long JOB_TURN_NS = 1_000_000;

    /** Whether the outermost end waits. */
    public boolean blocking() {
        return content.blocking;
    }

    /**
     * Leaves it to other threads, for an outermost end that does not wait.
     *
     * @return IN_PROGRESS
     * @throws NcclException why an operation was not submitted
     */
    public NcclResult leave() {
        content.operations.leave(content.kept);
        NcclException.throwIfAny(content.error);
        return NcclResult.IN_PROGRESS;
    }

    /**
     * Goes as far as possible without waiting.
     *
     * @return whether everything is over; false if there are jobs, which take longer
     */
    public boolean look() {
        return waiting.look() && content.jobs.isEmpty();
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
        for (Group.GroupJob job : content.jobs) {
            over &= job.await(System.nanoTime() + JOB_TURN_NS / content.jobs.size());
        }
        return over;
    }

    @Override
    public NcclResult result() {
        try {
            content.operations.failures(content);
            for (Group.GroupJob job : content.jobs) {
                try {
                    job.result();
                } catch (NcclException e) {
                    content.fail(e);
                }
            }
            NcclException.throwIfAny(content.error);
            return NcclResult.SUCCESS;
        } finally {
            Reference.reachabilityFence(content.kept);
        }
    }

    @Override
    public void interrupt() {
        content.operations.interrupt();
        content.jobs.forEach(Pending::interrupt);
    }
}
