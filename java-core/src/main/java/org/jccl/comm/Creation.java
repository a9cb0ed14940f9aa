package org.jccl.comm;

import org.jccl.group.Group;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.util.function.BooleanSupplier;

/** A communicator in the making: its job, run by the thread that waits or in the background. */
public final class Creation implements Group.GroupJob, Job {
    /** Every rank that waits wakes this often, to see that it is asked to stop. */
    private static final int STEP_WAIT_MS = 10;

    /** Each of many ranks wakes less often: they may be threads of one process. */
    private static final int LONGEST_STEP_WAIT_MS = 100;

    private static final int RANKS_PER_MS = 8;
    private static final long MS = 1_000_000;

    private final Comm comm;
    private final SetupJob job;

    /** Set before the job runs in the background, read by threads that wait (volatile). */
    private volatile boolean background;

    /** Written under the monitor of this, read by anybody (volatile). */
    private volatile boolean over;

    /**
     * Whether a thread that waits runs the job now; others wait for the end of its turn. Guarded by
     * this, as the one below.
     */
    private boolean taken;

    private @Nullable NcclException failure;

    Creation(Comm comm, SetupJob job) {
        this.comm = comm;
        this.job = job;
    }

    /** The communicator, which exists from the beginning. */
    public Comm comm() {
        return comm;
    }

    @Override
    public boolean blocking() {
        return comm.blocking();
    }

    /** If the system gives no thread, the job has failed at once; a caller that polls sees that. */
    @Override
    public void start() {
        background = true;
        try {
            JobAgent.start(this);
        } catch (RuntimeException | Error e) {
            ended(job.unstartable(e));
        }
    }

    @Override
    public boolean advance() {
        return job.advance();
    }

    @Override
    public void awaitActivity(int maxMs) {
        job.awaitActivity(maxMs);
    }

    @Override
    public void ended(@Nullable NcclException why) {
        NcclException end = why;
        try {
            job.ended(why);
        } catch (RuntimeException | Error e) {
            end = why != null ? why : Unforeseen.of(e, "at the end of " + job.what());
            comm.setupEnded(end, job.what());
        } finally {
            synchronized (this) {
                failure = end;
                over = true;
                notifyAll();
            }
        }
    }

    @Override
    public void drop(NcclException why) {
        ended(why);
    }

    @Override
    public boolean await(long untilNs) {
        if (background) {
            return awaitEndOf(() -> !over, untilNs);
        }
        if (!take(untilNs)) {
            return over;
        }
        try {
            return run(untilNs);
        } finally {
            giveBack();
        }
    }

    /** Waits until no other thread has its turn; false if the job is over or the time is up. */
    private synchronized boolean take(long untilNs) {
        if (!awaitEndOf(() -> taken && !over, untilNs) || over) {
            return false;
        }
        taken = true;
        return true;
    }

    private synchronized void giveBack() {
        taken = false;
        notifyAll();
    }

    private boolean run(long untilNs) {
        int ranks = job.meeting().nRanks();
        int stepMs = Math.clamp(ranks / RANKS_PER_MS, STEP_WAIT_MS, LONGEST_STEP_WAIT_MS);
        while (!over && !JobAgent.step(this)) {
            long leftNs = untilNs == 0 ? Long.MAX_VALUE : untilNs - System.nanoTime();
            if (leftNs <= 0) {
                return false;
            }
            job.awaitActivity(Math.clamp(leftNs / MS, 1, stepMs));
        }
        return true;
    }

    /** Waits until the condition is false; false if the time is up before. */
    private synchronized boolean awaitEndOf(BooleanSupplier condition, long untilNs) {
        while (condition.getAsBoolean()) {
            long leftMs = untilNs == 0 ? STEP_WAIT_MS : (untilNs - System.nanoTime()) / MS;
            if (leftMs <= 0) {
                return false;
            }
            try {
                wait(leftMs);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    @Override
    public synchronized NcclResult result() {
        NcclException why = failure;
        if (why != null) {
            throw why.on(job.meeting().identity());
        }
        return NcclResult.SUCCESS;
    }

    @Override
    public void interrupt() {
        job.interrupt();
    }
}
