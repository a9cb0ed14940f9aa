package org.jccl.progress;

import org.jccl.platform.Threads;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Progresses communicators on which asynchronous operations are under way and nobody waits, in one
 * thread, which calls {@link #turn} again and again. Any thread adds communicators.
 */
final class Attendant {
    private static final int YIELDS = 50;
    private static final long NAP_NS = 1_000_000;

    /**
     * Between two looks at what devices run, whose end nobody waits for here; below, if there are
     * more calls than the hosts of two ranks tell each other in a look of each.
     */
    private static final long DEVICE_NAP_NS = 300_000;

    private static final long SHORT_DEVICE_NAP_NS = 100_000;
    private static final int FEW_CALLS = 8;

    /** If nothing has moved after so many of them, the thread sleeps as on other operations. */
    private static final int DEVICE_NAPS = 10;

    final Thread thread;

    /** Whether the thread is to do something else; whoever changes that wakes it. */
    private final BooleanSupplier wanted;

    /** How the thread sleeps on communicators that are new to it; below, on those that it knows. */
    private final ConcurrentLinkedQueue<Sleep> arrivals = new ConcurrentLinkedQueue<>();

    private final List<Sleep> active = new ArrayList<>();

    /** How many communicators are in both. */
    private final AtomicInteger size = new AtomicInteger();

    /**
     * On whose peers the thread sleeps; written by the thread (volatile), read by those that wake
     * it.
     */
    private volatile @Nullable CommExecutor asleepOn;

    private int round;

    Attendant(Thread thread, BooleanSupplier wanted) {
        this.thread = thread;
        this.wanted = () -> wanted.getAsBoolean() || !arrivals.isEmpty();
    }

    /** Adds a communicator, which is not added again before it is turned away. */
    Sleep add(CommExecutor executor) {
        Sleep arrival = new Sleep(executor, wanted);
        executor.gate.attendant = thread;
        size.getAndIncrement();
        arrivals.add(arrival);
        return arrival;
    }

    /** Whether the thread has not seen what {@link #add} has returned, and never will. */
    boolean takeBack(Sleep arrival) {
        boolean taken = arrivals.remove(arrival);
        if (taken) {
            size.getAndDecrement();
        }
        return taken;
    }

    /** Whether there is nothing to attend. */
    boolean isFree() {
        return size.get() == 0;
    }

    /** Ends the thread's sleep. */
    void wake() {
        LockSupport.unpark(thread);
        CommExecutor asleep = asleepOn;
        if (asleep != null) {
            asleep.wakeSleepers();
        }
    }

    /**
     * Moves what can move, and rests if that is nothing.
     *
     * @param untilNs System.nanoTime at which a rest ends, 0 for never
     */
    void turn(long untilNs) {
        for (Sleep each = arrivals.poll(); each != null; each = arrivals.poll()) {
            active.add(each);
            round = 0;
        }
        if (active.isEmpty()) {
            idle(untilNs);
            return;
        }
        boolean moved = false;
        boolean alone = true;
        long onDevices = 0;
        boolean onHost = false;
        for (int i = active.size() - 1; i >= 0; i--) {
            CommExecutor executor = active.get(i).executor();
            if (executor.gate.closed() || !executor.busy()) {
                active.remove(i);
                size.getAndDecrement();
                StreamAgent.turnAway(executor);
            } else if (executor.gate.waiting()) {
                alone = false;
            } else {
                moved |= executor.gate.visit(executor::tryProgress);
                long calls = executor.onDeviceAlone();
                onDevices = Math.max(onDevices, calls);
                onHost |= calls == 0;
            }
        }
        round = moved ? 0 : round + 1;
        rest(alone, onHost ? 0 : onDevices, untilNs);
    }

    /** Leaves the communicators to others; the thread comes no more. */
    void passOn() {
        for (Sleep each : active) {
            StreamAgent.turnAway(each.executor());
        }
        active.clear();
        for (Sleep each = arrivals.poll(); each != null; each = arrivals.poll()) {
            StreamAgent.turnAway(each.executor());
        }
    }

    private void idle(long untilNs) {
        if (wanted.getAsBoolean()) {
            return;
        }
        if (untilNs == 0) {
            LockSupport.park(this);
        } else {
            LockSupport.parkNanos(this, untilNs - System.nanoTime());
        }
    }

    /** Rests; {@code onDevices} is how many calls devices run, 0 if there are others. */
    private void rest(boolean alone, long onDevices, long untilNs) {
        if (active.isEmpty() || (round == 0 && onDevices == 0)) {
            return;
        }
        if (onDevices > 0 && round < DEVICE_NAPS) {
            LockSupport.parkNanos(
                    this, onDevices > FEW_CALLS ? SHORT_DEVICE_NAP_NS : DEVICE_NAP_NS);
        } else if (!alone) {
            LockSupport.parkNanos(this, NAP_NS);
        } else if (onDevices == 0 && round <= YIELDS) {
            CommExecutor first = active.getFirst().executor();
            boolean lone = first.helpersHaveCores;
            boolean crowd = lone && first.lingering.crowd.isThere();
            round = crowd || Threads.yieldInCrowd(lone) ? YIELDS : round;
        } else if (active.size() == 1) {
            sleep(active.getFirst(), untilNs);
        } else {
            for (Sleep each : active) {
                each.once(null, false, System.nanoTime() + NAP_NS / active.size());
            }
        }
    }

    /** Sleeps once; a communicator that arrives ends the sleep. */
    private void sleep(Sleep sleep, long untilNs) {
        asleepOn = sleep.executor();
        try {
            if (!wanted.getAsBoolean()) {
                sleep.once(null, true, untilNs);
            }
        } finally {
            asleepOn = null;
        }
    }
}
