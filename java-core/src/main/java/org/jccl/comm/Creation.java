package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.group.Group;
import org.jccl.log.Log;
import org.jccl.param.Params;
import org.jccl.platform.Threads;
import org.jccl.platform.WatchedTime;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Sentence;
import org.jccl.type.Unforeseen;
import org.jccl.type.UniqueId;
import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * A communicator in the making: its ranks meet, connect and confirm, with a time limit. The thread
 * that waits for it does this, or the background does; one thread at a time.
 */
public abstract class Creation implements Group.GroupJob, Job {
    /** In a split, the colour of a rank that joins no child. */
    public static final int NOCOLOR = -1;

    /** Every rank that waits wakes this often, to see that it is asked to stop. */
    private static final int STEP_WAIT_MS = 10;

    /** Each of many ranks wakes less often: they may be threads of one process. */
    private static final int LONGEST_STEP_WAIT_MS = 100;

    private static final int RANKS_PER_MS = 8;
    private static final long MS = 1_000_000;
    private static final long VIRTUAL_NAP_NS = MS;

    /** The communicator that is being made. */
    final Comm comm;

    /** The communicator whose ranks meet, and whose end stops the job. */
    final Comm meeting;

    /** The call in sentences. */
    private final String what;

    private final int allRounds;
    private final long limitNs = Params.INIT_TIMEOUT.get() * MS;
    private final WatchedTime waited = new WatchedTime();
    private long warnAfterNs = Params.LATE_WARN.get() * MS;
    private @Nullable Rounds rounds;
    private @Nullable Setup setup;
    private boolean opened;
    private boolean met;
    private @Nullable NcclException failed;

    /** Whether the job is over; only the thread that runs the job writes it, and reads it. */
    private boolean over;

    private @Nullable NcclException failure;

    /**
     * The making of {@code comm}, for which the ranks of {@code meeting} meet.
     *
     * @param allRounds how many rounds each of them takes part in, even if it is no member or has
     *     failed; 0 if one that gives up ends them all
     */
    Creation(Comm comm, Comm meeting, String what, int allRounds) {
        this.comm = comm;
        this.meeting = meeting;
        this.what = what;
        this.allRounds = allRounds;
    }

    /**
     * Begins to create a communicator.
     *
     * @return the communicator in state INITIALIZING; {@link #start} or await its job
     * @throws NcclException INVALID_ARGUMENT for a bad rank or size
     */
    public static Creation init(UniqueId id, int nRanks, int rank, NcclConfig config) {
        return InitJob.begin(id, nRanks, rank, ConfigDefaults.resolve(config));
    }

    /** As {@link #init}, but blocking whatever the environment says. */
    public static Creation initBlocking(UniqueId id, int nRanks, int rank, NcclConfig config) {
        return InitJob.begin(id, nRanks, rank, ConfigDefaults.resolve(config).withBlocking(true));
    }

    /**
     * Begins to split a communicator; the child exists at once, in state INITIALIZING.
     *
     * @param color ranks of equal colour form a child; -1 for no child
     * @param key order inside the child, ties by parent rank
     * @param config null to inherit
     */
    public static Creation split(Comm parent, int color, int key, @Nullable NcclConfig config) {
        return SplitJob.begin(parent, color, key, config);
    }

    /** The exchange to meet through. */
    abstract Exchange open();

    /**
     * Learns who takes part, and calls {@link #setup} unless this rank joins nobody.
     *
     * @return whether it has come so far
     */
    abstract boolean meet();

    /** The job is over, and has left nobody yet. */
    void ending(@Nullable NcclException why) {}

    /** The job needs nothing any more, and its communicator is not yet ready. */
    void released(@Nullable NcclException why) {}

    final Rounds rounds() {
        return Objects.requireNonNull(rounds);
    }

    final void setup(Setup.Members members) {
        comm.infos = members.infos();
        comm.key = members.key();
        setup = new Setup(rounds(), members, comm.rank(), comm.device());
        setup.begin();
    }

    /** Whether the exchange was opened, or was to be, and has not finished all rounds. */
    final boolean cutShort() {
        return opened && (rounds == null || rounds.finished != allRounds);
    }

    /** Ends the job with its next step, if it is not over; any thread may ask for it. */
    public final void giveUp(NcclException why) {
        if (meeting.stopRequest == null) {
            meeting.stopRequest = why;
        }
    }

    /** The communicator, which exists from the beginning. */
    public final Comm comm() {
        return comm;
    }

    @Override
    public final boolean blocking() {
        return comm.blocking();
    }

    /**
     * If the system gives no thread, the job has failed at once, as if in its first step, since the
     * other ranks may have begun and wait for this one; a caller that polls sees that.
     */
    @Override
    public final void start() {
        try {
            JobAgent.start(this);
        } catch (RuntimeException | Error e) {
            opened = true;
            ended(Unforeseen.of(e, "in " + what).on(meeting.identity()));
        }
    }

    @Override
    public final boolean advance() {
        NcclException.throwIfAny(meeting.stopRequest);
        if (!opened) {
            opened = true;
            rounds = new Rounds(open());
        }
        lookAtTime();
        met = met || meet();
        return met && connect();
    }

    private void lookAtTime() {
        long waitedNs = waited.lookNs();
        if (limitNs > 0 && waitedNs > limitNs) {
            throw ErrorKind.INIT_TIMEOUT.says(
                    "rank %s waited %s in %s for %s; were all started? (JCCL_INIT_TIMEOUT sets the"
                            + " limit in seconds)",
                    meeting.rank(), time(limitNs), what, awaited());
        }
        // A split's wait for others is an operation of the parent, which warns by itself.
        if (meeting == comm && warnAfterNs > 0 && waitedNs > warnAfterNs) {
            warnAfterNs = 2 * waitedNs;
            Log.warn(
                    Sentence.of(
                            "rank %s has waited %s in %s for %s",
                            meeting.rank(), time(waitedNs), what, awaited()));
        }
    }

    private static String time(long ns) {
        return ns < 1000 * MS ? ns / MS + " ms" : ns / (1000 * MS) + " s";
    }

    private String awaited() {
        String unreachable = rounds().exchange.unreachable();
        if (unreachable != null) {
            return unreachable;
        }
        int[] missing = setup != null ? setup.missing() : rounds().exchange.missing();
        String who = missing.length == 0 ? "the others" : Sentence.ranks(missing);
        return who + " of " + meeting.nRanks() + " ranks";
    }

    /** Connects the members. One that is none, or has failed, takes part in what remains. */
    private boolean connect() {
        try {
            if (setup != null && !setup.advance()) {
                return false;
            }
        } catch (NcclException e) {
            failed = e;
        }
        leaveSetup();
        try {
            if (!restOfRounds()) {
                return false;
            }
        } catch (NcclException after) {
            throw failed == null ? after : failed;
        }
        NcclException.throwIfAny(failed);
        return true;
    }

    /**
     * If this rank is connected, its links are the communicator's, even if the job has failed: the
     * others may be ready and wait for it, and it tells them as the rank of one that ends.
     */
    private void leaveSetup() {
        Setup connecting = setup;
        setup = null;
        if (connecting == null) {
            return;
        }
        try {
            if (connecting.connected()) {
                comm.connected(connecting);
            }
        } finally {
            connecting.close();
        }
    }

    private boolean restOfRounds() {
        while (rounds().finished < allRounds) {
            if (rounds().begun == rounds().finished) {
                rounds().begin(new byte[0]);
            }
            if (!rounds().advance()) {
                return false;
            }
        }
        return true;
    }

    @Override
    public final void awaitActivity(int maxMs) {
        if (setup != null) {
            setup.awaitActivity(maxMs);
        } else {
            rounds().exchange.awaitActivity(maxMs);
        }
    }

    @Override
    public final void ended(@Nullable NcclException why) {
        NcclException end = why;
        try {
            ending(why);
            // The child of a split that has found no place yet has no rank to be named by.
            close(why == null || comm.rank() >= 0 ? why : why.on(meeting.identity()));
        } catch (RuntimeException | Error e) {
            end = why != null ? why : Unforeseen.of(e, "at the end of " + what);
            comm.setupEnded(end, what);
        } finally {
            failure = end;
            over = true;
        }
    }

    private void close(@Nullable NcclException why) {
        try {
            leaveSetup();
        } finally {
            leaveMeeting(why);
        }
        comm.setupEnded(why, what);
    }

    private void leaveMeeting(@Nullable NcclException why) {
        try {
            if (rounds != null) {
                if (why != null) {
                    // The others need not wait, and this rank does not wait until they know.
                    rounds.exchange.giveUp(why);
                }
                rounds.exchange.close();
            }
        } finally {
            released(why);
        }
    }

    @Override
    public final boolean await(long untilNs) {
        int ranks = meeting.nRanks();
        int stepMs = Math.clamp(ranks / RANKS_PER_MS, STEP_WAIT_MS, LONGEST_STEP_WAIT_MS);
        while (!over && !JobAgent.step(this)) {
            long leftNs = untilNs == 0 ? Long.MAX_VALUE : untilNs - System.nanoTime();
            if (leftNs <= 0) {
                return false;
            }
            if (Thread.currentThread().isVirtual()) {
                // A system call would keep its carrier from other ranks, perhaps awaited ones.
                Threads.nap(Math.min(leftNs, VIRTUAL_NAP_NS));
            } else {
                awaitActivity(Math.clamp(leftNs / MS, 1, stepMs));
            }
        }
        return true;
    }

    @Override
    public final NcclResult result() {
        if (failure != null) {
            throw failure.on(meeting.identity());
        }
        return NcclResult.SUCCESS;
    }

    @Override
    public final void interrupt() {
        meeting.interrupt();
    }
}
