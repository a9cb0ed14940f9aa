package org.jccl.executor;

import org.jccl.platform.Futex;
import org.jccl.platform.Membarrier;
import org.jccl.platform.Memory;
import org.jccl.platform.Sockets;
import org.jccl.platform.Threads;
import org.jccl.transport.Links;
import org.jccl.transport.Peer;
import org.jccl.transport.RegionLayout;
import org.jspecify.annotations.Nullable;

import java.util.Collection;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that waits for a task and lends itself to the communicator meanwhile: polls, then
 * yields, then sleeps. A sleep that what is waited for ends lasts at most 100 ms; one that has to
 * look again by itself, a sixteenth of the time waited so far, from 1 to 40 ms, and longer on a
 * node of many ranks. The thread never sleeps while it owns the communicator, so that any other can
 * go on.
 */
public final class Waiter {
    private static final long MS = 1_000_000;
    private static final int YIELDS = 50;
    private static final long LONGEST_NS = 100 * MS;

    /** On a node each nap of each rank takes some of the time of the same cores. */
    private static final long NAP_NS_PER_MATE = 15_000;

    private static final long LONGEST_UNTOLD_NS = 40 * MS;

    /** Of a thread that is wanted elsewhere perhaps, where nobody can wake it. */
    private static final long LONGEST_UNWOKEN_NS = 10 * MS;

    private static final long LONGEST_BESIDE_DEVICE_NS = 2 * MS;
    private static final int FRACTION = 4;
    private static final int UNTOLD_FRACTION = 16;
    private static final long CLOSING_NS = 50_000;
    private static final short POLLIN = 1;
    private static final short POLLOUT = 4;

    private Waiter() {}

    /**
     * Waits until the task is over.
     *
     * @param untilNs System.nanoTime at which to give up waiting (not the task), 0 for never
     * @return whether the task is over
     */
    public static boolean await(CommExecutor executor, Task task, long untilNs) {
        try {
            return counted(executor, task, untilNs);
        } catch (RuntimeException | Error e) {
            // Its caller is told of a failure: nothing may touch the buffers any more.
            executor.stopRequest = Failures.TORN;
            throw e;
        }
    }

    private static boolean counted(CommExecutor executor, Task task, long untilNs) {
        executor.gate().startWaiting();
        try {
            return wait(executor, task, untilNs);
        } finally {
            executor.stopWaiting();
        }
    }

    /**
     * Waits until nothing is under way on a communicator.
     *
     * @return whether that is so
     */
    public static boolean awaitIdle(CommExecutor executor, long untilNs) {
        int round = 0;
        while (executor.busy()) {
            boolean moved = false;
            if (executor.gate().tryOwn()) {
                try {
                    moved = executor.progress();
                } finally {
                    executor.gate().release();
                }
            }
            round = moved ? 0 : round + 1;
            if (round > YIELDS) {
                if (untilNs != 0 && System.nanoTime() - untilNs >= 0) {
                    return false;
                }
                sleep(executor, null, true, untilNs);
            } else if (Threads.yieldInCrowd()) {
                round = YIELDS;
            }
        }
        return true;
    }

    /**
     * Waits until a stop that was requested has taken effect: whoever owns the communicator may be
     * copying into a caller's buffer. That is short: no owner waits longer than a quiet link is
     * given to finish a frame.
     */
    static void awaitStop(CommExecutor executor) {
        int round = 0;
        while (executor.failure() == null && !executor.gate().closed()) {
            if (executor.gate().tryOwn()) {
                try {
                    executor.progress();
                } finally {
                    executor.gate().release();
                }
            } else {
                Threads.pause(round++);
            }
        }
    }

    /** Waits until a task is over whose communicator has failed, or is asked to stop: shortly. */
    public static void awaitEnd(CommExecutor executor, Task task) {
        for (int round = 0; !look(executor, task); round++) {
            Threads.pause(round);
        }
    }

    /** Moves what can be moved without waiting; whether the task is over. */
    public static boolean look(CommExecutor executor, Task task) {
        if (!task.over() && executor.gate().tryOwn()) {
            try {
                executor.progress();
            } finally {
                executor.gate().release();
            }
        }
        return task.over();
    }

    /**
     * Waits for a task that has just been started: for so many milliseconds, or with 0 as {@link
     * #look} and a moment longer for a collective that stands alone and whose peers can be
     * expected.
     *
     * @return whether it is over; if not, a stream thread goes on with it
     */
    static boolean accompany(CommExecutor executor, Task task, int ms) {
        try {
            boolean over =
                    ms > 0
                            ? counted(executor, task, System.nanoTime() + ms * MS)
                            : look(executor, task) || lingered(executor, task);
            if (!over) {
                Completions.expect(task);
                StreamAgent.attend(executor);
            }
            return over;
        } catch (RuntimeException | Error e) {
            // As in await; and nobody else may come to tell the peers.
            executor.stopRequest = Failures.TORN;
            StreamAgent.attend(executor);
            throw e;
        }
    }

    private static boolean lingered(CommExecutor executor, Task task) {
        if (!executor.lingering.pays(executor, task)) {
            return false;
        }
        executor.gate().startWaiting();
        try {
            return linger(executor, task, System.nanoTime() + Lingering.NS);
        } finally {
            executor.lingering.learn(task.over());
            executor.stopWaiting();
        }
    }

    private static boolean linger(CommExecutor executor, Task task, long untilNs) {
        while (!look(executor, task)) {
            if (System.nanoTime() - untilNs >= 0) {
                return false;
            }
            Thread.onSpinWait();
        }
        return true;
    }

    /** Address of an int that stays 0; room for a pollfd for each rank follows. */
    private static long nap(CommExecutor executor) {
        return executor.links().scratch();
    }

    private static boolean wait(CommExecutor executor, Task task, long untilNs) {
        // A slice goes on where the one before has ended; which of two values is seen makes no
        // difference.
        int round = task.slept ? Patience.TIRED : 0;
        boolean lone = executor.loneOnCores();
        long sinceNs = 0;
        while (!task.over()) {
            if (executor.gate().tryOwn()) {
                boolean moved;
                try {
                    moved = executor.progress();
                } finally {
                    executor.gate().release();
                }
                if (moved) {
                    round = 0;
                    continue;
                }
            }
            if (round < Patience.TIRED) {
                sinceNs = Patience.since(++round, sinceNs);
                round = Patience.turn(round, lone, sinceNs);
            } else {
                long beganNs = System.nanoTime();
                if (untilNs != 0 && beganNs - untilNs >= 0) {
                    return false;
                }
                task.slept = true;
                sleep(executor, task, true, untilNs);
                Patience.slept(System.nanoTime() - beganNs);
            }
        }
        return true;
    }

    static void sleep(CommExecutor executor, @Nullable Task task, boolean alone, long untilNs) {
        sleep(executor, task, alone, untilNs, null);
    }

    /**
     * Sleeps once, after a look at the peers' health.
     *
     * @param alone whether no other communicator is waited for
     * @param elsewhere what the thread must not sleep beside, unless it is empty. Who adds to it
     *     wakes the sleeper afterwards, where that can be done
     */
    static void sleep(
            CommExecutor executor,
            @Nullable Task task,
            boolean alone,
            long untilNs,
            @Nullable Collection<?> elsewhere) {
        if (executor.onDevice()) {
            sleepBesideDevice(executor, task, untilNs);
            return;
        }
        if (!executor.gate().enter()) {
            // The closer is still at it and ends the task, or the caller does.
            LockSupport.parkNanos(CLOSING_NS);
            return;
        }
        try {
            if (!executor.gate().tryOwn()) {
                Futex.await(nap(executor), 0, 50_000);
                return;
            }
            int q = -1;
            long address = 0;
            long value = 0;
            boolean net = false;
            boolean woken = false;
            boolean told = alone;
            long stuckNs = 0;
            try {
                if (executor.gate().closed()) {
                    return;
                }
                executor.health().look(executor, false);
                Engine engine = executor.engine();
                Task awaited = blocking(engine, task);
                if (awaited == null) {
                    return;
                }
                executor.interpreter().awaitAnother();
                q = engine.awaitedRank(awaited);
                address = engine.blocked(awaited).address();
                value = engine.blocked(awaited).value();
                net = executor.links().anyNet();
                woken = wakes(executor, q);
                boolean ends = net ? q >= 0 && executor.links().peer(q).isRemote() : address != 0;
                boolean other = q >= 0 && q != executor.links().rank();
                told &= ends && other && executor.gate().visitors() == 1;
                told &= !engine.severalLanes();
                stuckNs = awaited.stuckNs(System.nanoTime());
            } finally {
                executor.gate().release();
            }
            long ns = napNs(executor, stuckNs, told, untilNs);
            if (woken) {
                futex(executor, q, address, value, ns, elsewhere);
            } else if (!wanted(elsewhere)) {
                napUnwoken(
                        executor, net, elsewhere == null ? ns : Math.min(ns, LONGEST_UNWOKEN_NS));
            }
        } finally {
            executor.gate().leave();
        }
    }

    /** The task that a waiter for one, or for all, really waits for; null if there is none. */
    private static @Nullable Task blocking(Engine engine, @Nullable Task task) {
        if (task != null && task.over()) {
            return null;
        }
        return task == null ? engine.anyBlocking() : engine.blocking(task);
    }

    /**
     * For the owner: whether a store of rank {@code q}, a mate, shall end the sleep. What arrives
     * over TCP meanwhile waits in the sockets. A thread that has frames to send, or other lanes to
     * move, sleeps on the sockets instead.
     */
    private static boolean wakes(CommExecutor executor, int q) {
        Links links = executor.links();
        boolean mate = q >= 0 && q != links.rank() && !links.peer(q).isRemote();
        return mate && (!links.anyNet() || !(links.sending() || executor.engine().severalLanes()));
    }

    private static void napUnwoken(CommExecutor executor, boolean net, long ns) {
        if (net) {
            poll(executor, ns);
        } else {
            Futex.await(nap(executor), 0, ns);
        }
    }

    private static boolean wanted(@Nullable Collection<?> elsewhere) {
        return elsewhere != null && !elsewhere.isEmpty();
    }

    /** What a device does wakes nobody, so that every sleep beside it is short. */
    private static void sleepBesideDevice(
            CommExecutor executor, @Nullable Task task, long untilNs) {
        if (!executor.gate().enter()) {
            LockSupport.parkNanos(CLOSING_NS);
            return;
        }
        try {
            long ns = CLOSING_NS;
            if (executor.gate().tryOwn()) {
                try {
                    ns = lookBesideDevice(executor, task);
                } finally {
                    executor.gate().release();
                }
            }
            if (ns > 0) {
                Futex.await(nap(executor), 0, until(untilNs, ns));
            }
        } finally {
            executor.gate().leave();
        }
    }

    /** How long to sleep; for the owner. */
    private static long lookBesideDevice(CommExecutor executor, @Nullable Task task) {
        if (executor.gate().closed()) {
            return 0;
        }
        Engine engine = executor.engine();
        executor.health().checkDevice(executor);
        executor.health().look(executor, false);
        Task awaited = blocking(engine, task);
        if (awaited == null) {
            return CLOSING_NS;
        }
        long stuckNs = awaited.stuckNs(System.nanoTime());
        return Math.clamp(stuckNs / UNTOLD_FRACTION, CLOSING_NS, LONGEST_BESIDE_DEVICE_NS);
    }

    private static long napNs(CommExecutor executor, long stuckNs, boolean told, long untilNs) {
        int mates = executor.links().nRanks() - executor.links().remote().length;
        long least = Math.clamp(mates * NAP_NS_PER_MATE, MS, LONGEST_UNTOLD_NS);
        long most = Math.max(least, told ? LONGEST_NS : LONGEST_UNTOLD_NS);
        long ns = Math.clamp(stuckNs / (told ? FRACTION : UNTOLD_FRACTION), least, most);
        return until(untilNs, ns);
    }

    private static long until(long untilNs, long ns) {
        return untilNs == 0 ? ns : Math.min(ns, Math.max(10_000, untilNs - System.nanoTime()));
    }

    /**
     * Sleeps until rank {@code q} changes its region. The word is set before the value is read
     * again, with a barrier on all cores between, so that a writer that stores and then looks at
     * the word needs no fence.
     */
    private static void futex(
            CommExecutor executor,
            int q,
            long address,
            long value,
            long ns,
            @Nullable Collection<?> elsewhere) {
        long word = executor.links().base(q) + RegionLayout.WAITERS;
        executor.gate().startSleeping(q);
        Memory.getAndSetInt(word, 1);
        Membarrier.full();
        boolean unchanged = address == 0 || Memory.getLongAcquire(address) == value;
        if (unchanged && !executor.wanted() && !wanted(elsewhere)) {
            Futex.await(word, 1, ns);
        }
        executor.gate().stopSleeping(q);
    }

    private static void poll(CommExecutor executor, long ns) {
        Links links = executor.links();
        long at = executor.links().scratch() + 8;
        int n = 0;
        for (Peer link : links.remote()) {
            if (link.ended() == null) {
                Memory.putInt(at + 8L * n, link.descriptor());
                Memory.putInt(at + 8L * n + 4, link.sending() ? POLLIN | POLLOUT : POLLIN);
                n++;
            }
        }
        Sockets.poll(at, n, (int) Math.max(1, ns / MS));
    }
}
