package org.jccl.executor;

import org.jccl.log.Log;
import org.jccl.param.Params;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.platform.Sockets;
import org.jccl.platform.Threads;
import org.jccl.transport.Area;
import org.jccl.transport.CallRecord;
import org.jccl.transport.Links;
import org.jccl.transport.Region;
import org.jccl.transport.RegionLayout;
import org.jccl.transport.net.NetLink;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.PeerError;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What a wait looks at when it has become slow: has the rank that is waited for died, left or given
 * up, is the time limit past, should the user be told who is late. Also tells the other ranks when
 * this one gives up.
 */
public final class Health {
    private static final String REPORTED_BY = " (reported by rank ";

    private static final long MS = 1_000_000;

    /** How long a rank that gives up tries to tell the others over TCP. */
    private static final long FAREWELL_NS = 200 * MS;

    /** How long a rank that leaves waits for its last bytes to be taken over TCP. */
    private static final long LEAVE_NS = 2000 * MS;

    private final String name;
    private final long lateWarnNs;

    /** After how long without an answer a machine counts as lost, 0 for never. */
    private final long hostLostMs = Params.HOST_LOST.getMs();

    private final Lingering lingering;

    /** Changed by any thread (volatile): operations of this communicator may take so long. */
    private volatile long timeLimitMs;

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

    /**
     * Looks once; ends the communicator's operations if there is reason to. For the owner, with a
     * task that {@link CommExecutor#progress} could not move.
     */
    void check(CommExecutor executor, Task task) {
        try {
            executor.interpreter().checkPeers();
        } catch (NcclException e) {
            executor.fail(e, -1);
            return;
        }
        if (lookForDeath(executor, task)) {
            return;
        }
        long now = System.nanoTime();
        boolean first = task.blockedSinceNs == 0;
        long suspendedNs = Suspension.totalNs(now);
        if (!first) {
            task.forgive(suspendedNs - task.suspendedNs);
        }
        task.suspendedNs = suspendedNs;
        long at = executor.engine().position(task);
        if (first || at != task.stuckAt) {
            task.stuckAt = at;
            task.stuckSinceNs = now;
            task.warnAtNs = now + lateWarnNs;
        }
        if (first) {
            task.blockedSinceNs = now;
            return;
        }
        long waitedMs = (now - task.blockedSinceNs) / MS;
        long limit = timeLimitMs;
        if (limit > 0 && waitedMs >= limit) {
            executor.fail(
                    PeerError.LATE.says(
                            lateSentence(executor, task, waitedMs)
                                    + "; the time limit is "
                                    + limit
                                    + " ms"),
                    -1);
        } else if (lateWarnNs > 0 && now - task.warnAtNs >= 0) {
            long stuckNs = now - task.stuckSinceNs;
            task.warnAtNs = now + 2 * stuckNs;
            Log.warn(PeerError.LATE.says(lateSentence(executor, task, stuckNs / MS)));
        }
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

    /** Looks for ranks that gave up, and for the death of the one that the task waits for. */
    private boolean lookForDeath(CommExecutor executor, Task task) {
        Links links = executor.links();
        int awaited = awaited(executor, task);
        for (int q = 0; q < links.nRanks(); q++) {
            if (q != links.rank() && lost(executor, task, q, q == awaited)) {
                return true;
            }
        }
        return false;
    }

    /** Looks for ranks that gave up, and for awaited ones that died or left; for the owner. */
    void lookForLoss(CommExecutor executor, int[] awaited) {
        Links links = executor.links();
        if (links.anyNet()) {
            executor.progress();
        }
        for (int q = 0; q < links.nRanks(); q++) {
            boolean waitedFor = Arrays.binarySearch(awaited, q) >= 0;
            if (q != links.rank() && lost(executor, null, q, waitedFor)) {
                return;
            }
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

    private boolean lost(CommExecutor executor, @Nullable Task task, int q, boolean awaited) {
        Links links = executor.links();
        long status = links.region(q).status();
        if (status != 0 && !links.region(q).hasLeft()) {
            return finish(executor, task, culprit(links, q, status), reported(links, q, status));
        }
        if (!awaited) {
            return false;
        }
        if (status != 0) {
            return finish(
                    executor,
                    task,
                    q,
                    PeerError.LEFT.says("rank " + q + " has left " + name + where(executor, task)));
        }
        NetLink link = links.net(q);
        if (link != null) {
            link.silent(hostLostMs);
        }
        String ended = link == null ? null : link.ended();
        if (ended != null || links.processEnded(q)) {
            return finish(
                    executor,
                    task,
                    q,
                    PeerError.LOST.says(
                            "rank "
                                    + q
                                    + " is lost: "
                                    + (ended == null ? "its process ended" : ended)
                                    + where(executor, task)));
        }
        return false;
    }

    /** Fails the communicator unless the lost rank's bytes suffice after all. */
    private static boolean finish(
            CommExecutor executor, @Nullable Task task, int culprit, NcclException why) {
        boolean moved = executor.progress();
        if (!moved && (task == null || !task.over())) {
            executor.fail(why, culprit);
        }
        return true;
    }

    private String where(CommExecutor executor, @Nullable Task task) {
        if (task == null) {
            return "";
        }
        return " while rank "
                + executor.links().rank()
                + " waited for it in "
                + describe(executor, task)
                + " on "
                + name
                + "; abort or destroy the communicator";
    }

    /** Whom rank {@code q} holds guilty, so that the next one who hears of it names no other. */
    private static int culprit(Links links, int q, long status) {
        int named = (int) status - 1;
        return named >= 0 && named < links.nRanks() ? named : q;
    }

    private static NcclException reported(Links links, int q, long status) {
        int code = (int) (status >>> 32);
        String text = links.region(q).statusText();
        // Ranks that called different things are all at fault; any other reason is the other's.
        boolean everybodys = code == NcclResult.INVALID_USAGE.code();
        NcclResult result = everybodys ? NcclResult.INVALID_USAGE : NcclResult.REMOTE_ERROR;
        if (culprit(links, q, status) != q) {
            return PeerError.REPORTED.says(
                    result, text.contains(REPORTED_BY) ? text : text + REPORTED_BY + q + ")");
        }
        // What failed on the other rank must not read as if it had failed here.
        boolean named = everybodys || text.startsWith("rank " + q + " ");
        return PeerError.REPORTED.says(result, named ? text : "rank " + q + " gave up: " + text);
    }

    private static int awaited(CommExecutor executor, Task task) {
        if (!task.arrived()) {
            return -1;
        }
        return executor.engine().awaitedRank(task);
    }

    private static String describe(CommExecutor executor, Task task) {
        if (!task.arrived()) {
            return "nccl" + task.operation().ncclName() + " of " + task.count + " elements";
        }
        return task.operation().pointToPoint()
                ? CallRecord.pointToPointText(task.description, task.count)
                : CallRecord.text(
                        executor.interpreter().calls().number(), task.description, task.count);
    }

    private String lateSentence(CommExecutor executor, Task task, long waitedMs) {
        Links links = executor.links();
        String waited =
                "rank "
                        + links.rank()
                        + " has waited "
                        + waitedMs
                        + " ms in "
                        + describe(executor, task)
                        + " on "
                        + name;
        if (!task.arrived()) {
            return waited + " for its own stream, which has not come to the operation";
        }
        StringBuilder late = new StringBuilder();
        List<Integer> ranks = new ArrayList<>();
        if (task.operation().pointToPoint()) {
            ranks.add(task.peer);
        } else {
            for (int q = 0; q < links.nRanks(); q++) {
                if (!executor.interpreter().calls().inThisCall(q)) {
                    ranks.add(q);
                }
            }
            if (ranks.isEmpty() && awaited(executor, task) >= 0) {
                ranks.add(awaited(executor, task));
            }
        }
        for (int q : ranks.subList(0, Math.min(16, ranks.size()))) {
            late.append(late.isEmpty() ? "" : ", ").append(q);
        }
        if (ranks.size() > 16) {
            late.append(" and ").append(ranks.size() - 16).append(" more");
        }
        return waited + " for rank " + late + ", which has not come that far";
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

    /** Publishes why this rank gave up, to node mates and over TCP; for the owner. */
    void announce(CommExecutor executor, NcclException why, int culprit) {
        Links links = executor.links();
        int named =
                why.result() == NcclResult.REMOTE_ERROR && culprit >= 0 ? culprit : links.rank();
        say(links, why.result().code(), named, String.valueOf(why.getMessage()));
        flush(links, FAREWELL_NS);
    }

    private static void say(Links links, int code, int culprit, String text) {
        links.region(links.rank()).publishStatus(code, culprit, text);
        links.wakeSleepersOn(links.rank());
        long own = links.ownBase();
        for (int q = 0; q < links.nRanks(); q++) {
            NetLink link = links.net(q);
            if (link != null) {
                link.rescue();
                link.post(
                        Area.BASE,
                        RegionLayout.STATUS_TEXT,
                        own + RegionLayout.STATUS_TEXT,
                        4 + RegionLayout.STATUS_TEXT_BYTES,
                        RegionLayout.STATUS,
                        links.region(links.rank()).status(),
                        0,
                        0,
                        0);
            }
        }
    }

    private static void flush(Links links, long limitNs) {
        if (!links.anyNet()) {
            return;
        }
        long end = System.nanoTime() + limitNs;
        try (SharedMemory polls = SharedMemory.anonymous(8L * links.nRanks())) {
            while (true) {
                int n = 0;
                for (int q = 0; q < links.nRanks(); q++) {
                    NetLink link = links.net(q);
                    if (link != null && !link.flush()) {
                        Memory.putInt(polls.address() + 8L * n, link.descriptor());
                        Memory.putInt(polls.address() + 8L * n + 4, 4);
                        n++;
                    }
                }
                if (n == 0 || System.nanoTime() - end >= 0) {
                    return;
                }
                Sockets.poll(polls.address(), n, 20);
            }
        } catch (NcclException noMemory) {
            // The sockets have had a first look when it was posted.
        }
    }

    /** Leaves the communicator: says goodbye, waits for visitors, frees everything. */
    void shut(CommExecutor executor, NcclException goodbye) {
        if (!leave(executor, goodbye)) {
            return;
        }
        wakeSleepersOf(executor);
        for (int round = 0; executor.gate().visitors() > 0; round++) {
            Threads.pause(round);
            wakeSleepersOf(executor);
        }
        try {
            executor.engine().close();
        } finally {
            lingering.linger(executor.links());
        }
    }

    /**
     * Says goodbye, or why the communicator was stopped, and forbids everything else.
     *
     * @return false if that has been done before
     */
    public boolean leave(CommExecutor executor, NcclException goodbye) {
        for (int round = 0; !executor.gate().tryOwn(); round++) {
            Threads.pause(round);
        }
        try {
            Links links = executor.links();
            if (executor.gate().closed()) {
                return false;
            }
            executor.failIfStopped();
            boolean well = executor.failure() == null;
            executor.forbid(goodbye);
            if (well) {
                flush(links, LEAVE_NS);
                say(links, Region.LEFT, links.rank(), String.valueOf(goodbye.getMessage()));
            }
            flush(links, FAREWELL_NS);
            return true;
        } finally {
            executor.gate().release();
            executor.drainLate();
        }
    }

    private static void wakeSleepersOf(CommExecutor executor) {
        executor.gate().forEachSleptOn(executor.links()::wakeSleepersOn);
    }
}
