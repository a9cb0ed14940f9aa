package org.jccl.progress;

import org.jccl.executor.Blocked;
import org.jccl.executor.Task;
import org.jccl.platform.Futex;
import org.jccl.platform.Membarrier;
import org.jccl.platform.Memory;
import org.jccl.platform.Sockets;
import org.jccl.transport.Links;
import org.jccl.transport.Peer;
import org.jccl.transport.RegionLayout;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * How a thread sleeps that waits for what is under way on a communicator: once, after a look at the
 * peers' health. A sleep that ends when the awaited word changes lasts at most 100 ms. Where the
 * thread has to look again by itself, a sleep lasts a sixteenth of the time waited so far, from 1
 * to 40 ms, and longer on a node of many ranks. A thread that waits for a mate does not hear what
 * arrives over TCP, or that there is room to send, for which others may wait; so its first sleeps
 * are shorter.
 *
 * @param elsewhere whether the thread has other work, so that it must not sleep. A thread that
 *     gives it some wakes the sleeper afterwards, where it can
 */
record Sleep(CommExecutor executor, @Nullable BooleanSupplier elsewhere) {
    private static final long MS = 1_000_000;
    private static final long LONGEST_NS = 100 * MS;

    /** Each nap of each rank of a node takes some time of the cores that they share. */
    private static final long NAP_NS_PER_MATE = 15_000;

    private static final long LONGEST_UNTOLD_NS = 40 * MS;
    private static final long LEAST_DEAF_NS = MS / 10;

    /** For a thread that may be wanted elsewhere and that nobody can wake. */
    private static final long LONGEST_UNWOKEN_NS = 10 * MS;

    private static final int FRACTION = 4;
    private static final int UNTOLD_FRACTION = 16;

    /** For a thread that finds the communicator owned or being closed. */
    private static final long SHORT_NS = 50_000;

    /**
     * Sleeps once.
     *
     * @param task what is waited for, null for everything
     * @param alone whether the thread waits for no other communicator and no other task
     */
    void once(@Nullable Task task, boolean alone, long untilNs) {
        if (!executor.gate.enter()) {
            // The closer, still at work, ends the task, or the caller does.
            LockSupport.parkNanos(SHORT_NS);
            return;
        }
        try {
            sleep(task, alone, untilNs);
        } finally {
            executor.gate.leave();
        }
    }

    private void sleep(@Nullable Task task, boolean alone, long untilNs) {
        if (!executor.gate.tryOwn()) {
            Futex.await(still(), 0, SHORT_NS);
            return;
        }
        int q;
        long address;
        long value;
        long ns;
        boolean woken;
        try {
            executor.health.look(false);
            executor.links.lookAtAllNext();
            boolean over = task != null && task.over();
            Blocked blocked = over ? null : executor.engine.blocked(task);
            if (blocked == null) {
                return;
            }
            q = blocked.rank();
            address = blocked.address();
            value = blocked.value();
            boolean told = alone && isTold(blocked);
            woken = executor.engine.longestNapNs() == 0 && wakes(q);
            boolean deaf = woken && executor.links.anyNet();
            ns = napNs(blocked.stuckNs(executor.health.clockNs), told, deaf ? LEAST_DEAF_NS : MS);
        } finally {
            executor.gate.release();
        }
        long limitNs = until(untilNs, ns);
        if (woken) {
            futex(q, address, value, limitNs);
        } else if (!isWantedElsewhere()) {
            nap(elsewhere == null ? limitNs : Math.min(limitNs, LONGEST_UNWOKEN_NS));
        }
    }

    /** For the owner: whether the thread is woken when what it waits for comes. */
    private boolean isTold(Blocked blocked) {
        Links links = executor.links;
        int q = blocked.rank();
        if (q < 0 || q == links.rank()) {
            return false;
        }
        boolean ends = links.anyNet() ? links.peer(q).isRemote() : blocked.address() != 0;
        return ends
                && executor.gate.visitors() == 1 + executor.ear.visitors()
                && !executor.engine.severalLanes();
    }

    /**
     * For the owner: whether a store by rank {@code q}, a mate, is to end the sleep. What arrives
     * over TCP meanwhile waits in the sockets. A thread that has other lanes to move sleeps on the
     * sockets instead.
     */
    private boolean wakes(int q) {
        Links links = executor.links;
        boolean mate = q >= 0 && q != links.rank() && !links.peer(q).isRemote();
        return mate && !(links.anyNet() && executor.engine.severalLanes());
    }

    private long napNs(long stuckNs, boolean told, long shortestNs) {
        long longestNs = executor.engine.longestNapNs();
        if (longestNs > 0) {
            return Math.clamp(stuckNs / UNTOLD_FRACTION, SHORT_NS, longestNs);
        }
        int mates = executor.links.nRanks() - executor.links.remote().length;
        long least = Math.clamp(mates * NAP_NS_PER_MATE, shortestNs, LONGEST_UNTOLD_NS);
        long most = Math.max(least, told ? LONGEST_NS : LONGEST_UNTOLD_NS);
        return Math.clamp(stuckNs / (told ? FRACTION : UNTOLD_FRACTION), least, most);
    }

    private static long until(long untilNs, long ns) {
        return untilNs == 0 ? ns : Math.min(ns, Math.max(10_000, untilNs - System.nanoTime()));
    }

    private boolean isWantedElsewhere() {
        return elsewhere != null && elsewhere.getAsBoolean();
    }

    /** Address of an int that stays 0; room for a pollfd for each rank follows. */
    private long still() {
        return executor.links.scratch();
    }

    private void nap(long ns) {
        if (executor.engine.longestNapNs() == 0 && executor.links.anyNet()) {
            poll(ns);
        } else {
            Futex.await(still(), 0, ns);
        }
    }

    /**
     * Sleeps until rank {@code q} changes its region. The word is set before the value is read
     * again, with a barrier on all cores between, so that a writer that stores and then looks at
     * the word needs no fence.
     */
    private void futex(int q, long address, long value, long ns) {
        long word = executor.links.base(q) + RegionLayout.WAITERS;
        boolean heard = elsewhere != null && executor.ear.listens();
        executor.gate.startSleeping(q);
        if (heard) {
            executor.ear.startSleeping();
        }
        Memory.getAndSetInt(word, 1);
        Membarrier.full();
        boolean unchanged = address == 0 || Memory.getLongAcquire(address) == value;
        if (unchanged && !executor.wanted() && !isWantedElsewhere()) {
            if (heard) {
                executor.ear.sleep(ns);
            } else {
                Futex.await(word, 1, ns);
            }
        }
        if (heard) {
            executor.ear.stopSleeping();
        }
        executor.gate.stopSleeping(q);
    }

    private void poll(long ns) {
        long at = still() + 8;
        int n = 0;
        for (Peer link : executor.links.remote()) {
            if (link.ended() == null) {
                short events = link.sending() ? Sockets.POLLIN | Sockets.POLLOUT : Sockets.POLLIN;
                Sockets.setPollfd(at, n++, link.descriptor(), events);
            }
        }
        Sockets.poll(at, n, (int) Math.max(1, ns / MS));
    }
}
