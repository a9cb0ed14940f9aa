package org.jccl.executor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A wait for the tasks of a group, on one communicator or several, which may be ranks that wait for
 * each other. It may be made in slices, each of which goes on where the one before has ended.
 *
 * <p>Several threads may wait at once. The plain fields say where to go on; which of two values a
 * thread sees makes no difference.
 */
public final class GroupWait {
    /** How often the health of all communicators is looked at, at the least. */
    private static final long LOOK_NS = 20_000_000;

    private static final long LOOK_NS_EACH = 50_000;

    private final Share[] shares;
    private int turn;
    private boolean slept;
    private long lookedNs = System.nanoTime();

    /** What a look at all communicators has found. */
    enum Pass {
        /** All tasks are over. */
        OVER,
        /** Some bytes have moved, of these tasks or of others beside them. */
        MOVED,
        /** Nothing could move. */
        BLOCKED
    }

    /** The tasks of one communicator. */
    private static final class Share {
        final CommExecutor executor;
        final List<Task> tasks;

        /** All before it are over. */
        private int first;

        Share(CommExecutor executor, List<Task> tasks) {
            this.executor = executor;
            this.tasks = tasks;
        }

        boolean over() {
            int i = first;
            while (i < tasks.size() && tasks.get(i).over()) {
                i++;
            }
            first = i;
            return i == tasks.size();
        }

        boolean progress() {
            if (!executor.gate().tryOwn()) {
                return false;
            }
            try {
                return executor.progress();
            } finally {
                executor.gate().release();
            }
        }
    }

    /**
     * A wait for tasks that were submitted.
     *
     * @param executors that of each task
     */
    public GroupWait(List<CommExecutor> executors, List<Task> tasks) {
        Map<CommExecutor, List<Task>> byExecutor = new LinkedHashMap<>();
        for (int i = 0; i < tasks.size(); i++) {
            byExecutor.computeIfAbsent(executors.get(i), e -> new ArrayList<>()).add(tasks.get(i));
        }
        List<Share> all = new ArrayList<>();
        byExecutor.forEach((executor, own) -> all.add(new Share(executor, own)));
        this.shares = all.toArray(Share[]::new);
    }

    /** Moves what can be moved without waiting; whether all tasks are over. */
    public boolean look() {
        return pass() == Pass.OVER;
    }

    /** Moves every communicator that has a task to move, once. */
    Pass pass() {
        boolean over = true;
        boolean moved = false;
        for (Share share : shares) {
            if (!share.over()) {
                moved |= share.progress();
                over &= share.over();
            }
        }
        return over ? Pass.OVER : moved ? Pass.MOVED : Pass.BLOCKED;
    }

    /**
     * Waits until all tasks are over.
     *
     * @param untilNs System.nanoTime at which to give up waiting (not the tasks), 0 for never
     * @return whether all are over
     */
    public boolean await(long untilNs) {
        if (shares.length == 1 && shares[0].tasks.size() == 1) {
            return Waiter.await(shares[0].executor, shares[0].tasks.getFirst(), untilNs);
        }
        try {
            return awaitAll(untilNs);
        } catch (RuntimeException | Error e) {
            for (int i = 0; i < shares.length; i++) {
                shares[i].executor.stopRequest = Failures.TORN;
            }
            throw e;
        }
    }

    private boolean awaitAll(long untilNs) {
        int round = slept ? Patience.TIRED : 0;
        boolean lone = shares.length > 0 && shares[0].executor.loneOnCores();
        long sinceNs = 0;
        while (true) {
            Pass pass = pass();
            if (pass == Pass.OVER) {
                return true;
            }
            round = pass == Pass.MOVED ? 0 : round;
            if (round < Patience.TIRED) {
                sinceNs = Patience.since(++round, sinceNs);
                round = Patience.turn(round, lone, sinceNs);
            } else {
                lookAtPeers();
                if (untilNs != 0 && System.nanoTime() - untilNs >= 0) {
                    return false;
                }
                sleep(untilNs);
            }
        }
    }

    /** A sleep looks after its own communicator only. */
    private void lookAtPeers() {
        long nowNs = System.nanoTime();
        if (nowNs - lookedNs < Math.max(LOOK_NS, shares.length * LOOK_NS_EACH)) {
            return;
        }
        lookedNs = nowNs;
        for (Share share : shares) {
            if (!share.over()) {
                share.executor.lookAtPeers();
            }
        }
    }

    /** On the communicators in turn, so that what any of them is told ends a sleep. */
    private void sleep(long untilNs) {
        slept = true;
        for (int i = 0; i < shares.length; i++) {
            turn = turn + 1 < shares.length ? turn + 1 : 0;
            Share share = shares[turn];
            if (!share.over()) {
                Waiter.sleep(share.executor, null, false, untilNs);
                return;
            }
        }
    }
}
