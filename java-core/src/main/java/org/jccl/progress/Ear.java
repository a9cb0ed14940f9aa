package org.jccl.progress;

import org.jccl.platform.Cores;
import org.jccl.platform.FutexVector;
import org.jccl.platform.Threads;
import org.jccl.transport.Links;
import org.jccl.transport.RegionLayout;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * Thread {@code jccl-ear}: beside other work it sleeps on the words of a communicator's mates, and
 * wakes the thread that attends, which would sleep there otherwise. It keeps to the core of the
 * thread that starts operations, and wakes there once in a while though nobody has called;
 * ARCHITECTURE.md says what both gain. There is at most one in the process, for the communicator
 * that asked first. It ends with the crowd or the communicator, or when nobody has slept for a
 * second.
 *
 * <p>Between its look at the words and its sleep it may miss a wake-up; so whoever sleeps here
 * looks again by himself after a part of the time that he has waited.
 */
final class Ear implements Runnable {
    /** How long a sleep lasts at most. */
    private static final long BEAT_NS = 1_000_000;

    private static final long UNUSED_NS = 1_000_000_000;

    /** Whether there is a thread, or one is being made. */
    private static final AtomicBoolean THERE = new AtomicBoolean();

    private final CommExecutor executor;

    /** Whether the thread hears the mates; written by it (volatile), read by those that sleep. */
    private volatile boolean listening;

    /** Whom to wake; written by that thread (volatile). */
    private volatile @Nullable Thread sleeper;

    /** Whether somebody has slept of late; without order, a lost write costs a thread's start. */
    private boolean used;

    Ear(CommExecutor executor) {
        this.executor = executor;
    }

    /** Whether the mates are heard. If they are to be and are not yet, that begins. */
    boolean listens() {
        if (!listening && isWanted() && THERE.compareAndSet(false, true)) {
            begin();
        }
        return listening;
    }

    /** How many of the communicator's visitors are threads of this class. */
    int visitors() {
        return listening ? 1 : 0;
    }

    /** From now on the calling thread is woken when a mate wakes those who sleep on its word. */
    void startSleeping() {
        sleeper = Thread.currentThread();
    }

    /** Sleeps until then, or for so long at most. */
    void sleep(long ns) {
        used = true;
        if (listening) {
            LockSupport.parkNanos(this, ns);
        }
    }

    void stopSleeping() {
        sleeper = null;
    }

    private boolean isWanted() {
        return executor.helpersHaveCores
                && executor.lingering.crowd.isThere()
                && !executor.links.anyNet()
                && FutexVector.serves(executor.links.nRanks() - 1);
    }

    private void begin() {
        try {
            Threads.daemon("jccl-ear", this).start();
        } catch (Error noThread) {
            // Sleepers hear the mates themselves.
            THERE.set(false);
        }
    }

    @Override
    public void run() {
        try {
            executor.gate.visit(this::listen);
        } finally {
            THERE.set(false);
        }
    }

    private boolean listen() {
        Links links = executor.links;
        int[] mates = IntStream.range(0, links.nRanks()).filter(q -> q != links.rank()).toArray();
        try (FutexVector words = new FutexVector(mates.length)) {
            for (int i = 0; i < mates.length; i++) {
                words.set(i, links.base(mates[i]) + RegionLayout.WAITERS);
            }
            listening = true;
            hear(words);
        } finally {
            listening = false;
            wake();
        }
        return true;
    }

    private void hear(FutexVector words) {
        boolean woken = true;
        int kept = -1;
        long usedNs = System.nanoTime();
        while (isWanted() && !executor.gate.closed()) {
            long nowNs = System.nanoTime();
            usedNs = used ? nowNs : usedNs;
            used = false;
            if (nowNs - usedNs > UNUSED_NS) {
                return;
            }
            if (kept != executor.lingering.crowd.core()) {
                kept = executor.lingering.crowd.core();
                Cores.keepTo(kept);
            }
            // A mate clears the word before it wakes those who sleep on it.
            woken |= words.look();
            // After the look: what has changed until then may have been meant for him.
            if (woken) {
                wake();
            }
            woken = words.await(BEAT_NS);
        }
    }

    private void wake() {
        Thread thread = sleeper;
        if (thread != null) {
            LockSupport.unpark(thread);
        }
    }
}
