package org.jccl.comm;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.group.Group;
import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.reduce.Warmup;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Unforeseen;
import org.jccl.type.UniqueId;
import org.jccl.type.Version;
import org.jspecify.annotations.Nullable;

/** A communicator in the making: its job, run by the thread that waits or in the background. */
public final class Creation implements Group.GroupJob, Job {
    /** Every rank that waits wakes this often, to see that it is asked to stop. */
    private static final int STEP_WAIT_MS = 10;

    /** Each of many ranks wakes less often: they may be threads of one process. */
    private static final int LONGEST_STEP_WAIT_MS = 100;

    private static final int RANKS_PER_MS = 8;
    private static final long MS = 1_000_000;

    private final SetupJob job;

    /** Written under the monitor of this, read by anybody (volatile). */
    private volatile boolean over;

    /**
     * Whether a thread has its turn to run the job: one that waits gives it back, the background
     * does not. Guarded by this, as the one below.
     */
    private boolean taken;

    private @Nullable NcclException failure;

    Creation(SetupJob job) {
        this.job = job;
    }

    /**
     * Begins to create a communicator.
     *
     * @return the communicator in state INITIALIZING; {@link #start} or await its job
     * @throws NcclException INVALID_ARGUMENT for a bad rank or size
     */
    public static Creation init(UniqueId id, int nRanks, int rank, NcclConfig config) {
        return initResolved(id, nRanks, rank, ConfigDefaults.resolve(config));
    }

    /** As {@link #init}, but blocking whatever the environment says. */
    public static Creation initBlocking(UniqueId id, int nRanks, int rank, NcclConfig config) {
        return initResolved(id, nRanks, rank, ConfigDefaults.resolve(config).withBlocking(true));
    }

    private static Creation initResolved(UniqueId id, int nRanks, int rank, NcclConfig config) {
        if (nRanks < 1 || rank < 0 || rank >= nRanks) {
            throw ErrorKind.RANK_OUTSIDE.says(
                    "ncclCommInitRank: rank %s of %s ranks; the rank must lie in [0, nranks)",
                    rank, nRanks);
        }
        Log.refresh();
        Log.version(rank, "NCCL version " + Version.NCCL + "+jccl" + Version.text());
        UniqueId meeting = Rendezvous.effective(id);
        long hash = Rendezvous.publicNumber(meeting);
        Comm comm = new Comm(config, ConfigDefaults.device(config), rank, nRanks, hash);
        Warmup.start();
        Object[] of = {comm.identity(), config.blocking() ? 1 : 0};
        Log.info(Subsystem.INIT, "ncclCommInitRank %s blocking %d - Init START", of);
        return new Creation(new InitJob(comm, meeting));
    }

    /**
     * Begins to split a communicator; the child exists at once, in state INITIALIZING.
     *
     * @param color ranks of equal colour form a child; -1 for no child
     * @param key order inside the child, ties by parent rank
     * @param config null to inherit
     */
    public static Creation split(Comm parent, int color, int key, @Nullable NcclConfig config) {
        parent.ensureUnbroken();
        SplitJob.checkColor(color);
        NcclConfig own = parent.config();
        NcclConfig resolved = config == null ? own : ConfigDefaults.resolve(config);
        ConfigDefaults.requireParentsDevice(config, parent.device());
        if (resolved.hostId() == null) {
            resolved = resolved.withHostId(own.hostId());
        }
        long number = parent.life.beginSplit();
        try {
            Comm child = new Comm(resolved, parent.device(), -1, 0, parent.commHash());
            Object[] of = {parent.identity(), parent.blocking() ? 1 : 0, number, color, key};
            Log.info(
                    Subsystem.INIT,
                    "ncclCommSplit parent %s blocking %d childCount %d color %d key %d - Init"
                            + " START",
                    of);
            return new Creation(new SplitJob(parent, child, color, key, number));
        } catch (RuntimeException | Error e) {
            parent.life.endSplit(null);
            throw e;
        }
    }

    /** The communicator, which exists from the beginning. */
    public Comm comm() {
        return job.comm;
    }

    @Override
    public boolean blocking() {
        return job.comm.blocking();
    }

    /** If the system gives no thread, the job has failed at once; a caller that polls sees that. */
    @Override
    public void start() {
        synchronized (this) {
            taken = true;
        }
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
            end = why != null ? why : Unforeseen.of(e, "at the end of " + job.what);
            job.comm.setupEnded(end, job.what);
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
        while (taken && !over) {
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
        taken = !over;
        return taken;
    }

    private synchronized void giveBack() {
        taken = false;
        notifyAll();
    }

    private boolean run(long untilNs) {
        int ranks = job.meeting.nRanks();
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

    @Override
    public synchronized NcclResult result() {
        NcclException why = failure;
        if (why != null) {
            throw why.on(job.meeting.identity());
        }
        return NcclResult.SUCCESS;
    }

    @Override
    public void interrupt() {
        job.meeting.interrupt();
    }
}
