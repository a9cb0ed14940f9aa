package org.jccl.progress;

import org.jccl.executor.Task;
import org.jccl.platform.Threads;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * A wait for operations of one or several communicators, which may be ranks that wait for each
 * other. Meanwhile the thread lends itself to them: it polls, then yields, then sleeps, and never
 * sleeps while it owns one of them, so that any other can go on. A wait may be made in slices, each
 * of which continues where the one before has ended.
 *
 * <p>Several threads may wait at once. The plain fields say where to go on; which of two values a
 * thread sees makes no difference.
 */
public final class Wait {
    /** A virtual thread is woken at the end of what it waits for, and looks this often. */
    private static final long VIRTUAL_NAP_NS = 20_000_000;

    /** How long others may go on after an operation of a group has failed. */
    private static final long GRACE_NS = 2_000_000_000;

    private final Share[] shares;

    /** Why an operation of the group was not even begun since its communicator is over, or null. */
    private final @Nullable NcclException refused;

    /** The only task, null if there are several or none is known. */
    private final @Nullable Task only;

    private int turn;

    /** Knows whether the wait has slept: the only task, which tells all waits for it. */
    private final Task sleeper;

    private final Looks looks = new Looks();

    /** When an operation that has failed was first seen, 0 before. */
    private long failedNs;

    /** What a look at all communicators has found. */
    enum Pass {
        /** What is waited for is over. */
        OVER,
        /** Some bytes have moved, of these operations or of others beside them. */
        MOVED,
        /** Nothing could move. */
        BLOCKED
    }

    /** What is waited for on one communicator. */
    private static final class Share {
        final CommExecutor executor;

        final Sleep sleep;

        /** What is waited for; empty for everything that is under way. */
        final List<Task> tasks;

        /** Index of a task before which all are over. */
        private int first;

        Share(CommExecutor executor, List<Task> tasks) {
            this.executor = executor;
            this.sleep = new Sleep(executor, null);
            this.tasks = tasks;
        }

        boolean over() {
            if (tasks.isEmpty()) {
                return !executor.busy();
            }
            int i = first;
            while (i < tasks.size() && tasks.get(i).over()) {
                i++;
            }
            // A task that is used again is waited for again.
            first = tasks.size() == 1 ? 0 : i;
            return i == tasks.size();
        }

        /** Why one of the tasks has failed, null if none has. */
        @Nullable NcclException failure() {
            for (Task task : tasks) {
                if (task.over() && task.failure() != null) {
                    return task.failure();
                }
            }
            return null;
        }

        /** A task that is not over, null if there is none. */
        @Nullable Task next() {
            return over() || tasks.isEmpty() ? null : tasks.get(first);
        }
    }

    /** Wakes a virtual thread that waits. */
    private record Waking(Thread waiter) implements Runnable {
        @Override
        public void run() {
            LockSupport.unpark(waiter);
        }
    }

    private Wait(Share[] shares, @Nullable NcclException refused) {
        this.shares = shares;
        this.refused = refused;
        boolean single = shares.length == 1 && shares[0].tasks.size() == 1;
        this.only = single ? shares[0].tasks.getFirst() : null;
        this.sleeper = only == null ? new Task() : only;
    }

    /** A wait for a task that was submitted; also for later uses of the same object. */
    public static Wait of(CommExecutor executor, Task task) {
        return new Wait(new Share[] {new Share(executor, List.of(task))}, null);
    }

    /** A wait until nothing is under way on a communicator. */
    public static Wait untilIdle(CommExecutor executor) {
        return new Wait(new Share[] {new Share(executor, List.of())}, null);
    }

    /**
     * A wait for the tasks of a group that were submitted, by executor.
     *
     * @param refused why another one was not, since its communicator is over, or null
     */
    public static Wait ofAll(Map<CommExecutor, List<Task>> tasks, @Nullable NcclException refused) {
        Share[] shares =
                tasks.entrySet().stream()
                        .map(each -> new Share(each.getKey(), each.getValue()))
                        .toArray(Share[]::new);
        return new Wait(shares, refused);
    }

    /** Moves what can move without waiting and returns whether all is over. */
    public boolean look() {
        return pass() == Pass.OVER;
    }

    /** Moves every communicator on which something is waited for, once. */
    Pass pass() {
        boolean over = true;
        boolean moved = false;
        for (Share share : shares) {
            if (!share.over()) {
                moved |= share.executor.tryProgress();
                over &= share.over();
            }
        }
        return over ? Pass.OVER : moved ? Pass.MOVED : Pass.BLOCKED;
    }

    /**
     * Waits until all is over.
     *
     * @param untilNs System.nanoTime at which to give up waiting (not the operations), 0 for never
     * @return whether all is over
     */
    public boolean await(long untilNs) {
        try {
            return Thread.currentThread().isVirtual() ? park(untilNs) : lendCounted(untilNs);
        } catch (RuntimeException | Error e) {
            // The caller is told of a failure: nothing may touch its buffers any more.
            for (Share share : shares) {
                share.executor.stopRequest = Unforeseen.TORN;
            }
            throw e;
        }
    }

    private boolean lendCounted(long untilNs) {
        int counted = 0;
        try {
            for (; counted < shares.length; counted++) {
                shares[counted].executor.gate.startWaiting();
            }
            return lend(untilNs);
        } finally {
            for (int i = 0; i < counted; i++) {
                StreamAgent.stopWaiting(shares[i].executor);
            }
        }
    }

    private boolean lend(long untilNs) {
        int round = sleeper.hasSlept() ? Patience.TIRED : 0;
        boolean lone = shares.length > 0 && shares[0].executor.loneOnCores;
        long sinceNs = 0;
        while (true) {
            Pass pass = pass();
            if (pass == Pass.OVER) {
                return true;
            }
            if (pass == Pass.MOVED) {
                round = 0;
                continue;
            }
            if (round < Patience.TIRED) {
                sinceNs = Patience.since(++round, sinceNs);
                round = Patience.turn(round, lone, sinceNs);
                continue;
            }
            lookAtPeers();
            long beganNs = System.nanoTime();
            if (untilNs != 0 && beganNs - untilNs >= 0) {
                return false;
            }
            sleep(untilNs);
            if (only != null) {
                Patience.slept(System.nanoTime() - beganNs);
            }
        }
    }

    /**
     * Looks at all communicators of a group now and then, since a sleep looks at its own only, and
     * whether one is over.
     */
    private void lookAtPeers() {
        if ((shares.length > 1 || refused != null) && looks.areDue(shares.length)) {
            for (Share share : shares) {
                if (!share.over()) {
                    share.executor.lookAtPeers();
                }
            }
            endAfterFailure();
        }
    }

    /**
     * Ends a group of which an operation has failed, whoever is late on its other communicators:
     * they may need a rank that never comes. They fail, too, since nothing may touch the caller's
     * buffers when it is told.
     */
    private void endAfterFailure() {
        NcclException why = failure();
        if (why == null) {
            return;
        }
        long nowNs = System.nanoTime();
        failedNs = failedNs == 0 ? nowNs : failedNs;
        if (nowNs - failedNs < GRACE_NS) {
            return;
        }
        NcclException ends =
                ErrorKind.GROUP_FAILED.because(
                        why,
                        "another operation of the same group has failed, and those of this"
                                + " communicator were not over after %s ms more; destroy or abort"
                                + " both: %s",
                        GRACE_NS / 1_000_000,
                        why.getMessage());
        for (Share share : shares) {
            if (!share.over()) {
                share.executor.requestStop(ends);
            }
        }
    }

    private @Nullable NcclException failure() {
        NcclException why = refused;
        for (int i = 0; why == null && i < shares.length; i++) {
            why = shares[i].failure();
        }
        return why;
    }

    /** Sleeps on the communicators in turn, so that news for any of them ends a sleep. */
    private void sleep(long untilNs) {
        sleeper.sleeps();
        for (Share share : shares) {
            share.executor.links.lookAtAllNext();
        }
        for (int i = 0; i < shares.length; i++) {
            turn = turn + 1 < shares.length ? turn + 1 : 0;
            Share share = shares[turn];
            if (!share.over()) {
                boolean alone = shares.length == 1 && share.tasks.size() <= 1;
                share.sleep.once(only, alone, untilNs);
                return;
            }
        }
    }

    /**
     * A virtual thread leaves the work to a stream thread and is woken at the end: it must not keep
     * its carrier in a system call.
     */
    private boolean park(long untilNs) {
        Task heard = null;
        for (int round = 0; pass() != Pass.OVER; round++) {
            long leftNs = untilNs == 0 ? VIRTUAL_NAP_NS : untilNs - System.nanoTime();
            if (leftNs <= 0) {
                return false;
            }
            if (round < Patience.SPINS) {
                Thread.yield();
                continue;
            }
            lookAtPeers();
            Task next = null;
            for (Share share : shares) {
                next = next == null ? share.next() : next;
                StreamAgent.attend(share.executor);
            }
            if (next != null && next != heard) {
                // The slices of a wait come here again and again.
                next.whenOverOnce(new Waking(Thread.currentThread()));
                heard = next;
            }
            if (next == null || !next.over()) {
                Threads.nap(Math.min(leftNs, VIRTUAL_NAP_NS));
            }
        }
        return true;
    }
}
