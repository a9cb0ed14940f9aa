package org.jccl.progress;

import org.jccl.executor.Blocked;
import org.jccl.executor.Engine;
import org.jccl.executor.Task;
import org.jccl.log.Log;
import org.jccl.param.Params;
import org.jccl.platform.WatchedTime;
import org.jccl.transport.Links;
import org.jccl.transport.Peer;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.function.ObjLongConsumer;

/**
 * The look that a communicator's owner takes now and then: whether a rank has given up, whether a
 * rank that something under way still needs has died or left, whether a time limit is past, and
 * whether to tell the user who is late. One look covers everything that is under way, whoever waits
 * for it and whatever else moves. Fields without a comment belong to the owner and are plain.
 */
final class Health {
    private static final long MS = 1_000_000;

    /** How often to ask whether a process or a machine has ended: one system call for each rank. */
    private static final long ASK_NS = 20 * MS;

    private static final long ASK_NS_PER_RANK = 15_000;

    /** How often to compare calls: each rank of the node reads a cache line for each rank. */
    private static final long COMPARE_NS_PER_PAIR = 800;

    /** A rank that has called something else is found after this time at the latest. */
    private static final long COMPARE_NS = 1000 * MS;

    /** What still moves may not need a rank that is gone: that is believed for this time. */
    private static final long DOUBT_NS = 1000 * MS;

    /** How often the owner moves everything between two looks at the clock; a power of two. */
    private static final int TURNS = 16;

    private final CommExecutor executor;
    private final Links links;
    private final Engine engine;
    private final Wording wording;
    private final long lateWarnNs = Params.LATE_WARN.get() * MS;

    /** After how long without an answer a machine counts as lost, 0 for never. */
    private final long hostLostMs = Params.HOST_LOST.get();

    /** Time limit of operations, 0 for none; written by any thread (volatile). */
    volatile long timeLimitMs;

    private int turns;

    /** When the system was last asked about the ranks. */
    private long askedNs = System.nanoTime() - ASK_NS;

    /** When calls were last compared. */
    private long comparedNs = System.nanoTime() - COMPARE_NS;

    private boolean looking;

    /** How long operations have gone on without ranks that gave up; below, a split without them. */
    private final WatchedTime doubtful = new WatchedTime();

    private final WatchedTime doubtfulSplit = new WatchedTime();

    /** The time of the last look. */
    private long nowNs;

    /** The same by the clock of limits; below, what the look has found to wait for too long. */
    long clockNs;

    private @Nullable Blocked overdue;
    private @Nullable Blocked late;
    private final ObjLongConsumer<Blocked> lookAtTime = this::lookAtTime;

    Health(CommExecutor executor) {
        this.executor = executor;
        this.links = executor.links;
        this.engine = executor.engine;
        this.wording = new Wording(links, engine, executor.name);
        doubtful.stop();
        doubtfulSplit.stop();
    }

    /** Looks if the last look was long ago; called whenever the owner has moved everything. */
    void lookNowAndThen() {
        turns++;
        if ((turns & (TURNS - 1)) == 0 && System.nanoTime() - askedNs >= intervalNs()) {
            look(true);
        }
    }

    private long intervalNs() {
        return Math.max(ASK_NS, links.watched().length * ASK_NS_PER_RANK);
    }

    /**
     * Looks once; ends the communicator's operations if there is reason to. For the owner.
     *
     * @param moving whether something may be about to move
     */
    void look(boolean moving) {
        // What a look moves would look again.
        if (looking || hasEnded()) {
            return;
        }
        looking = true;
        try {
            lookOnce(moving);
        } finally {
            looking = false;
        }
    }

    private boolean hasEnded() {
        return executor.failure() != null || executor.gate.closed();
    }

    private void lookOnce(boolean moving) {
        nowNs = System.nanoTime();
        boolean ask = nowNs - askedNs >= intervalNs();
        if (ask) {
            askedNs = nowNs;
        }
        try {
            engine.requireSound();
            if (engine.idle()) {
                return;
            }
            if (ask) {
                engine.tellAll();
            }
            compareCalls();
        } catch (NcclException e) {
            executor.fail(e, -1);
            return;
        }
        if (lookForReports(moving) || (ask && lookForDeath())) {
            return;
        }
        clockNs = Suspension.clockNs(nowNs);
        lookAtTimes();
        if (overdue == null && late == null) {
            return;
        }
        // A rank that is dead, or whose frames have arrived, must not be called late.
        boolean moved = progressAll() || moving;
        if (hasEnded() || lookForReports(moved) || lookForDeath()) {
            return;
        }
        lookAtTimes();
        if (overdue != null) {
            endOverdue(overdue);
        } else if (late != null) {
            warn(late);
        }
    }

    /** Finds what has waited too long, or long. */
    private void lookAtTimes() {
        overdue = null;
        late = null;
        engine.forEachBlocked(lookAtTime);
    }

    /** Reads what all ranks have sent and moves what can move. */
    private boolean progressAll() {
        links.lookAtAllNext();
        return executor.progress();
    }

    private void compareCalls() {
        long nRanks = links.nRanks();
        long everyNs = Math.min(COMPARE_NS, nRanks * nRanks * COMPARE_NS_PER_PAIR);
        if (nowNs - comparedNs >= everyNs) {
            comparedNs = nowNs;
            engine.requireSameCall();
        }
    }

    private void lookAtTime(Blocked blocked, long at) {
        blocked.look(at, clockNs, lateWarnNs);
        long limit = timeLimitMs;
        if (limit > 0 && blocked.waitedNs(clockNs) / MS >= limit) {
            overdue = overdue == null ? blocked : overdue;
        } else if (lateWarnNs > 0 && clockNs - blocked.warnAtNs() >= 0) {
            // The others' turn comes with the next looks.
            late = late == null || blocked.warnAtNs() - late.warnAtNs() < 0 ? blocked : late;
        }
    }

    private void endOverdue(Blocked blocked) {
        if (!blocked.ended()) {
            long waitedMs = blocked.waitedNs(clockNs) / MS;
            executor.fail(wording.overdue(blocked, waitedMs, timeLimitMs), -1);
        }
    }

    private void warn(Blocked blocked) {
        long stuckMs = blocked.stuckNs(clockNs) / MS;
        blocked.warned(clockNs);
        Log.warn(wording.slow(blocked, stuckMs));
    }

    /**
     * Looks for ranks that gave up.
     *
     * @return whether the communicator has failed
     */
    private boolean lookForReports(boolean moving) {
        boolean any = false;
        for (int q : links.watched()) {
            if (executor.failure() == null && hasGivenUp(q)) {
                any = true;
                endReported(q, moving);
            }
        }
        if (!any) {
            doubtful.stop();
        }
        return executor.failure() != null;
    }

    /**
     * Looks for needed ranks that died or left.
     *
     * @return whether the communicator has failed
     */
    private boolean lookForDeath() {
        for (int q : links.watched()) {
            if (executor.failure() == null && isGone(q)) {
                endNeeding(q);
            }
        }
        return executor.failure() != null;
    }

    /** Looks for ranks that gave up, and for awaited ones that died or left; for the owner. */
    void lookForLoss(int[] awaited) {
        if (links.anyNet()) {
            progressAll();
        }
        boolean any = false;
        for (int q : links.watched()) {
            if (hasEnded()) {
                return;
            }
            if (hasGivenUp(q) || (Arrays.binarySearch(awaited, q) >= 0 && isGone(q))) {
                any = true;
                if (!progressAll() || doubtfulSplit.lookNs() >= DOUBT_NS) {
                    end(q, hasGivenUp(q), null);
                }
            }
        }
        if (!any) {
            doubtfulSplit.stop();
        }
    }

    private boolean hasGivenUp(int q) {
        return links.region(q).status() != 0 && !links.region(q).hasLeft();
    }

    /** Whether rank {@code q} has left, or died; asks the system. */
    private boolean isGone(int q) {
        Peer peer = links.peer(q);
        peer.silent(hostLostMs);
        return peer.region().hasLeft() || peer.ended() != null;
    }

    /** Fails the communicator unless the bytes of a rank that gave up suffice after all. */
    private void endReported(int q, boolean moving) {
        boolean moved = progressAll() || moving;
        boolean over = engine.idle() || executor.failure() != null;
        if (!over && (!moved || engine.needing(q) != null || doubtful.lookNs() >= DOUBT_NS)) {
            end(q, true, null);
        }
    }

    /** Fails the communicator if something needs more from a rank that is gone. */
    private void endNeeding(int q) {
        if (engine.needing(q) == null) {
            return;
        }
        boolean moved = progressAll();
        boolean heard = links.peer(q).heardOut() || links.region(q).hasLeft();
        Task task = executor.failure() == null ? engine.needing(q) : null;
        if (task != null && (heard || !moved)) {
            // Its last bytes may have said why it ends.
            end(q, hasGivenUp(q), task);
        }
    }

    /**
     * Fails the communicator because of rank {@code q}.
     *
     * @param gaveUp whether the rank has said why itself
     * @param needing the operation that needs the rank, if there is one
     */
    private void end(int q, boolean gaveUp, @Nullable Task needing) {
        if (!gaveUp) {
            executor.fail(wording.loss(q, needing), q);
        } else {
            long status = links.region(q).status();
            executor.fail(wording.reported(q, status), wording.culprit(q, status));
        }
    }
}
