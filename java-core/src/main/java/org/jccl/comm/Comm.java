package org.jccl.comm;

import org.jccl.call.Call;
import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.executor.Task;
import org.jccl.group.GroupMember;
import org.jccl.group.Pending;
import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.plan.Planner;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Parting;
import org.jccl.progress.StreamAgent;
import org.jccl.progress.Wait;
import org.jccl.transport.Links;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Sentence;
import org.jspecify.annotations.Nullable;

import java.util.function.Consumer;

/**
 * A communicator: one rank's membership in a group of ranks. The C door and the Java facade are
 * thin faces of it. Every method may be called from any thread.
 */
public final class Comm implements GroupMember {
    private static final long JOBS_END_MS = 500;

    /** How long destroy waits for operations whose peers do not come. */
    private static final long SETTLE_NS = 5_000_000_000L;

    private static final int[] NOBODY = {};

    /** Made with the class, so that a rank can go where there is no memory for it. */
    private static final Consumer<Links> FAREWELL = Farewell::linger;

    /** Any thread changes its time limit (volatile). */
    private volatile NcclConfig config;

    private final boolean blocking;

    final StateMachine life = new StateMachine(this::identity);

    /** Written by the setup job before state becomes READY, like those down to key. */
    private volatile int rank;

    private volatile int nRanks;
    private volatile long commHash;
    private volatile @Nullable CommExecutor executor;
    private volatile @Nullable Planner planner;
    volatile RankInfo[] infos = {};
    volatile byte[] key = {};

    /** The device of the buffers, null for the host. */
    private final @Nullable Device device;

    /** Written by the setup job. */
    private volatile @Nullable DeviceCollectives collectives;

    /** Set by abort, destroy or an interrupt, to end background jobs. */
    volatile @Nullable NcclException stopRequest;

    private final CustomOps customOps = new CustomOps();

    /** The last call that somebody waited for; its task is reused. Any caller reads, writes. */
    private volatile @Nullable Awaited last;

    Comm(NcclConfig config, @Nullable Device device, int rank, int nRanks, long commHash) {
        this.config = config;
        this.blocking = config.blocking();
        this.device = device;
        this.rank = rank;
        this.nRanks = nRanks;
        this.commHash = commHash;
    }

    void placed(int newRank, int newSize, long hash) {
        rank = newRank;
        nRanks = newSize;
        commHash = hash;
        Log.info(Subsystem.INIT, "ncclCommSplit " + identity() + " - Init START");
    }

    void named(long hash) {
        commHash = hash;
    }

    void connected(Setup setup) {
        boolean rankOrder = infos[rank].reducesInRankOrder();
        planner = new Planner(rank, setup.nodes(), rankOrder, setup.net(), identity());
        Links links = setup.links();
        collectives = setup.collectives();
        CommExecutor made = new CommExecutor(links, identity(), device, collectives);
        made.timeLimitMs(config.timeoutMs());
        executor = made;
    }

    void setupEnded(@Nullable NcclException why, String what) {
        if (why == null && life.change(CommState.INITIALIZING, CommState.READY)) {
            // From here on it belongs to its user, who may have destroyed it by now.
            Log.info(Subsystem.INIT, what + " " + identity() + " - Init COMPLETE");
            return;
        }
        if (why != null) {
            life.failure = why;
            String sentence = what + " " + identity() + ": " + why.getMessage();
            if (life.change(CommState.INITIALIZING, CommState.FAILED)) {
                Log.warn(sentence);
            } else {
                // Its user has aborted it.
                Log.info(Subsystem.INIT, sentence);
            }
        }
        CommExecutor ex = executor;
        boolean gone = stopRequest != null && life.state == CommState.DESTROYED;
        if (ex != null) {
            // The child of a split had no rank yet: this names it anew.
            NcclException reason = gone || why == null ? life.aborted(rank) : why;
            ex.requestStop(reason);
            Parting.close(ex, reason, FAREWELL);
        }
    }

    void splitEnded(@Nullable NcclException why, boolean broken) {
        CommExecutor ex = executor;
        if (why != null && (broken || (ex != null && ex.failure() != null))) {
            life.failure = why;
        }
        life.endSplit(why);
    }

    /** This rank. */
    public int rank() {
        return rank;
    }

    /** Ranks of the communicator. */
    public int nRanks() {
        return nRanks;
    }

    /** Equal on all ranks, as good as unique. */
    public long commHash() {
        return commHash;
    }

    /** Whether the ranks' devices run this call, which has been checked, among themselves. */
    boolean runsOnDevices(Call call) {
        DeviceCollectives ours = collectives;
        return ours != null && ours.takes(call);
    }

    /** The device of the buffers, null for the host. */
    public @Nullable Device device() {
        return device;
    }

    /** The number of its device, -1 on the host. */
    public int deviceNumber() {
        return device == null ? -1 : device.ordinal();
    }

    /** The reductions that were created on it. */
    public CustomOps customOps() {
        return customOps;
    }

    /** The resolved configuration. */
    public NcclConfig config() {
        return config;
    }

    /** The name of the communicator in logs and errors. */
    public String identity() {
        String name = config.commName() == null ? "" : " \"" + config.commName() + "\"";
        String hash = Long.toHexString(commHash);
        return Sentence.of("comm 0x%s%s rank %s nranks %s", hash, name, rank, nRanks);
    }

    Planner planner() {
        return made(planner);
    }

    @Override
    public CommExecutor executor() {
        return made(executor);
    }

    private <T> T made(@Nullable T part) {
        if (part == null) {
            throw life.notReady();
        }
        return part;
    }

    @Override
    public boolean blocking() {
        return blocking;
    }

    /** The state, which may have changed when this returns. */
    public CommState state() {
        return life.state;
    }

    /**
     * The communicator's result: IN_PROGRESS while something is under way that a caller has to poll
     * for, INVALID_ARGUMENT after its end, else how it stands.
     */
    public NcclResult asyncError() {
        // First: who fails stores the failure, then the state.
        CommState now = life.state;
        CommExecutor ex = executor;
        if (ex != null) {
            ex.settle();
        }
        NcclException failed = failure();
        if (failed != null) {
            return failed.result();
        }
        if (now == CommState.DESTROYED) {
            return NcclResult.INVALID_ARGUMENT;
        }
        if (now == CommState.INITIALIZING || life.splits > 0) {
            return NcclResult.IN_PROGRESS;
        }
        if (ex == null) {
            return NcclResult.SUCCESS;
        }
        boolean polled = !blocking && (ex.callersWait() || now == CommState.FINALIZED);
        if (polled && ex.busy()) {
            return NcclResult.IN_PROGRESS;
        }
        ex.lookForLoss(NOBODY);
        NcclException found = ex.failure();
        return found == null ? NcclResult.SUCCESS : found.result();
    }

    /** Whether operations or splits are under way. */
    boolean underWay() {
        CommExecutor ex = executor;
        return life.splits > 0 || (ex != null && ex.busy());
    }

    /** Why the communicator has failed, or null. */
    public @Nullable NcclException failure() {
        NcclException own = life.failure;
        if (own != null) {
            return own;
        }
        CommExecutor ex = executor;
        return ex == null || life.state == CommState.DESTROYED ? null : ex.failure();
    }

    /**
     * Refuses a call that needs a communicator with nothing in progress.
     *
     * @throws NcclException INVALID_ARGUMENT while in progress or after the end, else the failure
     */
    public void ensureReady() {
        life.ensureReady();
    }

    /** Whether {@link #ensureReady} refuses nothing, and no split or group has failed. */
    boolean takesCalls() {
        return life.state == CommState.READY && life.splits == 0 && life.failure == null;
    }

    /** As {@link #ensureReady}; refuses with the failure of an operation, too. */
    void ensureUnbroken() {
        ensureReady();
        NcclException.throwIfAny(failure());
    }

    /** Refuses a query while init or split is under way, or after a failed init. */
    public void ensureQueryable() {
        if (life.state != CommState.FINALIZED) {
            ensureReady();
        }
    }

    /** Changes the time limit of operations, 0 for none. */
    public void timeLimitMs(long ms) {
        if (life.state != CommState.INITIALIZING) {
            ensureReady();
        }
        config = config.withTimeoutMs(ms);
        CommExecutor ex = executor;
        if (ex != null) {
            ex.timeLimitMs(ms);
        }
    }

    /** Says goodbye at the end of the process, without waiting for anything. */
    public void leaveAtExit() {
        NcclException goodbye =
                ErrorKind.ENDED_NORMALLY.says("the process of rank %s ended normally", rank);
        stopRequest = goodbye;
        CommExecutor ex = executor;
        if (ex != null && life.end()) {
            Parting.leave(ex, goodbye);
        }
    }

    /**
     * Waits until nothing is under way; afterwards only queries and destroy are allowed.
     *
     * @return what to wait for
     */
    public Pending finish() {
        ensureUnbroken();
        if (!life.change(CommState.READY, CommState.FINALIZED)) {
            throw life.ended(life.state);
        }
        Log.info(Subsystem.DESTROY, identity() + " - Finalize START");
        return new Awaited(this, null, Wait.untilIdle(executor()));
    }

    /**
     * Frees the communicator. Local: does not wait for the other ranks beyond operations that are
     * under way.
     *
     * @return false if the communicator has been destroyed or aborted before
     * @throws NcclException INVALID_ARGUMENT if it is not ready
     */
    public boolean destroy() {
        CommState now = life.state;
        boolean splitting = now == CommState.READY && life.splits > 0 && failure() == null;
        if (now == CommState.INITIALIZING || splitting) {
            throw life.notReady();
        }
        return end("Destroy");
    }

    /**
     * Stops everything and frees the communicator, whatever its state and whatever peers do.
     *
     * @return false if it has been destroyed or aborted before
     */
    public boolean abort() {
        NcclException why = life.aborted(rank);
        stopRequest = why;
        CommExecutor ex = executor;
        if (ex != null) {
            ex.requestStop(why);
        }
        return end("Abort");
    }

    private boolean end(String what) {
        if (!life.end()) {
            return false;
        }
        Log.info(Subsystem.DESTROY, identity() + " - " + what + " START");
        String did = what.equals("Abort") ? " aborted" : " destroyed";
        NcclException goodbye =
                ErrorKind.ENDED_HERE.says("rank %s%s its communicator (%s)", rank, did, identity());
        stopRequest = stopRequest == null ? goodbye : stopRequest;
        // Background jobs see the stop request and end; they are not waited for longer than that.
        life.awaitSplits(JOBS_END_MS);
        CommExecutor ex = executor;
        if (ex != null) {
            if (what.equals("Destroy")) {
                settle(ex);
            }
            Parting.close(ex, goodbye, FAREWELL);
        }
        Log.info(Subsystem.DESTROY, identity() + " - " + what + " COMPLETE");
        return true;
    }

    /** Waits until nothing is under way; after a while it warns, and gives the operations up. */
    private void settle(CommExecutor ex) {
        if (!Wait.untilIdle(ex).await(System.nanoTime() + SETTLE_NS)) {
            Log.warn(
                    ErrorKind.GIVEN_UP.says(
                            "%s is destroyed while operations are under way, which have not ended"
                                + " within 5 s and are given up; finalize it before, or abort it",
                            identity()));
        }
    }

    /** The waiting thread was interrupted by its user. */
    public void interrupt() {
        stopRequest =
                ErrorKind.INTERRUPTED.says(
                        "rank %s was interrupted by its user (%s)", rank, identity());
        CommExecutor ex = executor;
        if (ex != null) {
            Parting.interrupt(ex);
        }
    }

    @Override
    public void groupFailed(NcclException why) {
        if (!blocking) {
            life.failure = why;
        }
    }

    /** The task to wait for; made once for a task that is used again and again. */
    Pending pending(Task task) {
        Awaited pending = last;
        if (pending == null || pending.task != task) {
            pending = new Awaited(this, task, Wait.of(executor(), task));
            last = pending;
        }
        return pending;
    }

    /** What a caller waits for: a task or, if it is null, the end of all that is under way. */
    private record Awaited(Comm comm, @Nullable Task task, Wait waiting) implements Pending {
        @Override
        public boolean await(long untilNs) {
            return waiting.await(untilNs);
        }

        @Override
        public NcclResult result() {
            if (task == null) {
                // The communicator tells of no failure any more once somebody has aborted it.
                NcclException.throwIfAny(comm.executor().failure());
                Log.info(Subsystem.DESTROY, comm.identity() + " - Finalize COMPLETE");
                return NcclResult.SUCCESS;
            }
            NcclException failed = task.failure();
            comm.executor().seen(task);
            NcclException.throwIfAny(failed);
            return NcclResult.SUCCESS;
        }

        @Override
        public void keep(Object object) {
            if (task != null) {
                task.keep(object);
            }
        }

        @Override
        public void interrupt() {
            comm.interrupt();
        }
    }

    /** Leaves a queued operation to the stream threads. */
    public void leave() {
        StreamAgent.attend(executor());
    }
}
