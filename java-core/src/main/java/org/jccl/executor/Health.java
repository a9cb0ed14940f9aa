package org.jccl.executor;

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
 * What whoever moves a communicator looks at now and then: has a rank given up, has one died or
 * left that something under way still needs, is a time limit past, should the user be told who is
 * late. One look is for everything that is under way, whoever waits for it and whatever moves
 * beside it. Fields without a word are the owner's, and plain.
 */
public final class Health {
    private static final long MS = 1_000_000;

    /** How often it is asked whether a process or a machine has ended: one call for each rank. */
    private static final long ASK_NS = 20 * MS;

    private static final long ASK_NS_PER_RANK = 15_000;

    /** How often calls are compared: a cache line for each rank, on each rank of the node. */
    private static final long COMPARE_NS_PER_PAIR = 800;

    /** A rank that has called something else is known after this time at the latest. */
    private static final long COMPARE_NS = 1000 * MS;

    /** How often everything is moved between two looks at the clock, a power of two. */
    private static final int TURNS = 16;

    private final String name;
    private final long lateWarnNs;

    /** After how long without an answer a machine counts as lost, 0 for never. */
    private final long hostLostMs = Params.HOST_LOST.getMs();

    private final Lingering lingering;

    /** Changed by any thread (volatile): operations of this communicator may take so long. */
    private volatile long timeLimitMs;

    private int turns;

    /** When ranks were asked for last. */
    private long askedNs = System.nanoTime() - ASK_NS;

    /** When calls were compared last. */
    private long comparedNs = System.nanoTime() - COMPARE_NS;

    private boolean looking;

    /** Whether ranks that gave up, or that a split awaits in vain, have given enough. */
    private final Doubt aboutOperations = new Doubt();

    private final Doubt aboutSplit = new Doubt();

    /** Of the look that is under way: when it is, and what has waited too long. */
    private long nowNs;

    private long suspendedNs;
    private @Nullable Task overdue;
    private @Nullable Task late;
    private final ObjLongConsumer<Task> lookAtTime = this::lookAtTime;

    /** What still moves may not need a rank that is gone; for so long that is believed. */
    private static final class Doubt {
        private static final long LONGEST_NS = 1000 * MS;

        private @Nullable WatchedTime since;

        boolean isOver() {
            WatchedTime watched = since == null ? new WatchedTime() : since;
            since = watched;
            return watched.lookNs() >= LONGEST_NS;
        }

        void none() {
            since = null;
        }
    }

    /** Takes over links that may still hold undelivered bytes. */
    public interface Lingering {
        /** Keeps the links until the other sides have ended; closes everything then. */
        void linger(Links links);
    }

    /**
     * The health of one communicator.
     *
     * @param name how to call the communicator in sentences
     * @param lateWarnMs after how long the late ranks are named, 0 for never
     */
    public Health(String name, long lateWarnMs, Lingering lingering) {
        this.name = name;
        this.lateWarnNs = lateWarnMs * MS;
        this.lingering = lingering;
    }

    /** How the communicator is called in sentences. */
    String name() {
        return name;
    }

    /** Sets the time limit of operations, 0 for none. */
    public void timeLimitMs(long ms) {
        timeLimitMs = ms;
    }

    /** The owner has moved everything once more: looks if it was long ago that somebody did. */
    void lookNowAndThen(CommExecutor executor) {
        turns++;
        if ((turns & (TURNS - 1)) == 0 && System.nanoTime() - askedNs >= intervalNs(executor)) {
            look(executor, true);
        }
    }

    private static long intervalNs(CommExecutor executor) {
        return Math.max(ASK_NS, executor.links().watched().length * ASK_NS_PER_RANK);
    }

    /**
     * Looks once; ends the communicator's operations if there is reason to. For the owner.
     *
     * @param moving whether something may be about to move
     */
    void look(CommExecutor executor, boolean moving) {
        // What a look moves looks by itself.
        if (looking || executor.failure() != null || executor.gate().closed()) {
            return;
        }
        looking = true;
        try {
            lookOnce(executor, moving);
        } finally {
            looking = false;
        }
    }

    private void lookOnce(CommExecutor executor, boolean moving) {
        nowNs = System.nanoTime();
        boolean ask = nowNs - askedNs >= intervalNs(executor);
        if (ask) {
            askedNs = nowNs;
        }
        if (executor.engine().idle()) {
            return;
        }
        if (calledDifferently(executor)) {
            return;
        }
        if (lookForReports(executor, moving) || (ask && lookForDeath(executor))) {
            return;
        }
        suspendedNs = Suspension.totalNs(nowNs);
        overdue = null;
        late = null;
        executor.engine().forEachFirst(lookAtTime);
        if (overdue != null) {
            // A rank that is dead must not be called late.
            if (ask || !lookForDeath(executor)) {
                endOverdue(executor, overdue);
            }
        } else if (late != null) {
            warn(executor, late);
        }
    }

    private boolean calledDifferently(CommExecutor executor) {
        long nRanks = executor.links().nRanks();
        long everyNs = Math.min(COMPARE_NS, nRanks * nRanks * COMPARE_NS_PER_PAIR);
        if (nowNs - comparedNs < everyNs) {
            return false;
        }
        comparedNs = nowNs;
        try {
            executor.interpreter().checkPeers();
            return false;
        } catch (NcclException e) {
            executor.fail(e, -1);
            return true;
        }
    }

    private void lookAtTime(Task task, long at) {
        boolean first = task.blockedSinceNs == 0;
        if (!first) {
            task.forgive(suspendedNs - task.suspendedNs);
        }
        task.suspendedNs = suspendedNs;
        if (first || at != task.stuckAt) {
            task.stuckAt = at;
            task.stuckSinceNs = nowNs;
            task.warnAtNs = nowNs + lateWarnNs;
        }
        if (first) {
            task.blockedSinceNs = nowNs;
            return;
        }
        long limit = timeLimitMs;
        if (limit > 0 && (nowNs - task.blockedSinceNs) / MS >= limit) {
            overdue = overdue == null ? task : overdue;
        } else if (lateWarnNs > 0 && nowNs - task.warnAtNs >= 0) {
            // The others' turn comes with the next looks.
            late = late == null || task.warnAtNs - late.warnAtNs < 0 ? task : late;
        }
    }

    private void endOverdue(CommExecutor executor, Task task) {
        if (task.over()) {
            return;
        }
        long waitedMs = (nowNs - task.blockedSinceNs) / MS;
        executor.fail(Wording.overdue(executor, task, waitedMs, timeLimitMs), -1);
    }

    private void warn(CommExecutor executor, Task task) {
        long stuckNs = nowNs - task.stuckSinceNs;
        task.warnAtNs = nowNs + 2 * stuckNs;
        Log.warn(Wording.slow(executor, task, stuckNs / MS));
    }

    /** Ends the communicator's operations if its device does nothing any more; for the owner. */
    void checkDevice(CommExecutor executor) {
        DeviceQueue device = executor.engine().device();
        if (device != null && executor.failure() == null) {
            try {
                device.requireSound();
            } catch (NcclException e) {
                executor.fail(e, -1);
            }
        }
    }

    /**
     * Looks for ranks that gave up.
     *
     * @return whether the communicator has failed
     */
    private boolean lookForReports(CommExecutor executor, boolean moving) {
        Links links = executor.links();
        boolean any = false;
        for (int q : links.watched()) {
            if (executor.failure() == null && hasGivenUp(links, q)) {
                any = true;
                endReported(executor, q, moving);
            }
        }
        if (!any) {
            aboutOperations.none();
        }
        return executor.failure() != null;
    }

    /**
     * Looks for ranks that died or left and are needed.
     *
     * @return whether the communicator has failed
     */
    private boolean lookForDeath(CommExecutor executor) {
        Links links = executor.links();
        for (int q : links.watched()) {
            if (executor.failure() == null && isGone(links, q)) {
                endNeeding(executor, q);
            }
        }
        return executor.failure() != null;
    }

    /** Looks for ranks that gave up, and for awaited ones that died or left; for the owner. */
    void lookForLoss(CommExecutor executor, int[] awaited) {
        Links links = executor.links();
        if (links.anyNet()) {
            executor.progress();
        }
        boolean any = false;
        for (int q : links.watched()) {
            if (executor.failure() != null) {
                break;
            }
            boolean gaveUp = hasGivenUp(links, q);
            if (gaveUp || (Arrays.binarySearch(awaited, q) >= 0 && isGone(links, q))) {
                any = true;
                if (!executor.progress() || aboutSplit.isOver()) {
                    end(executor, q, gaveUp, null);
                }
            }
        }
        if (!any) {
            aboutSplit.none();
        }
    }

    private static boolean hasGivenUp(Links links, int q) {
        return links.region(q).status() != 0 && !links.region(q).hasLeft();
    }

    /** Whether rank {@code q} has left, or died; asks the system. */
    private boolean isGone(Links links, int q) {
        Peer peer = links.peer(q);
        peer.silent(hostLostMs);
        return peer.region().hasLeft() || peer.ended() != null;
    }

    /** Fails the communicator unless the bytes of a rank that gave up suffice after all. */
    private void endReported(CommExecutor executor, int q, boolean moving) {
        Engine engine = executor.engine();
        boolean moved = executor.progress() || moving;
        boolean over = engine.idle() || executor.failure() != null;
        if (!over && (!moved || engine.needing(q) != null || aboutOperations.isOver())) {
            end(executor, q, true, null);
        }
    }

    /** Fails the communicator if something needs more from a rank that is gone. */
    private void endNeeding(CommExecutor executor, int q) {
        Engine engine = executor.engine();
        if (engine.needing(q) == null) {
            return;
        }
        Links links = executor.links();
        boolean moved = executor.progress();
        boolean heard = links.peer(q).heardOut() || links.region(q).hasLeft();
        Task task = executor.failure() == null ? engine.needing(q) : null;
        if (task != null && (heard || !moved)) {
            end(executor, q, false, task);
        }
    }

    /**
     * Fails the communicator because of rank {@code q}.
     *
     * @param gaveUp whether it said itself why
     * @param needing what misses it, if that is an operation
     */
    private static void end(CommExecutor executor, int q, boolean gaveUp, @Nullable Task needing) {
        Links links = executor.links();
        if (!gaveUp) {
            executor.fail(Wording.loss(executor, q, needing), q);
        } else {
            long status = links.region(q).status();
            executor.fail(Wording.reported(links, q, status), Wording.culprit(links, q, status));
        }
    }

    /** Whether rank {@code q} has begun the call after the one that this rank made last. */
    public boolean inNextCall(CommExecutor executor, int q) {
        if (!executor.gate().enter()) {
            return false;
        }
        try {
            return executor.interpreter().calls().inNextCall(q);
        } finally {
            executor.gate().leave();
        }
    }

    /** Whether rank {@code q} has come to the call that this rank made last; for diagnosis. */
    public boolean inLastCall(CommExecutor executor, int q) {
        if (!executor.gate().enter()) {
            return true;
        }
        try {
            return executor.interpreter().calls().inThisCall(q);
        } finally {
            executor.gate().leave();
        }
    }

    /** Wakes threads of this process that may sleep for what the owner now has to do. */
    void wakeSleepers(CommExecutor executor) {
        if (executor.gate().anySleeper() && executor.gate().enter()) {
            try {
                wakeSleepersOf(executor);
            } finally {
                executor.gate().leave();
            }
        }
    }

    static void wakeSleepersOf(CommExecutor executor) {
        executor.gate().forEachSleptOn(executor.links()::wakeSleepersOn);
    }

    /** Leaves the communicator: says goodbye, waits for visitors, frees everything. */
    void shut(CommExecutor executor, NcclException goodbye) {
        Parting.shut(executor, goodbye, lingering);
    }

    /**
     * Says goodbye, or why the communicator was stopped, and forbids everything else.
     *
     * @return false if that has been done before
     */
    public boolean leave(CommExecutor executor, NcclException goodbye) {
        return Parting.leave(executor, goodbye);
    }
}
