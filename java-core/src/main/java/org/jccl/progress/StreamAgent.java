package org.jccl.progress;

import org.jccl.log.Log;
import org.jccl.platform.Threads;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Thread {@code jccl-stream-k}: progresses communicators on which asynchronous operations are under
 * way and nobody waits. There is at most one per core, made when first needed; a communicator
 * always belongs to the same one.
 */
public final class StreamAgent implements Runnable {
    private static final int MAX_AGENTS = 4;
    private static final int YIELDS = 50;
    private static final long NAP_NS = 1_000_000;

    /** Between two looks at what devices run, whose end nobody waits for here. */
    private static final long DEVICE_NAP_NS = 100_000;

    /** If nothing has moved after so many of them, the agent sleeps as on other operations. */
    private static final int DEVICE_NAPS = 10;

    /** The pause after a failure, which may last. */
    private static final long PAUSE_NS = 100_000_000;

    static final @Nullable StreamAgent[] AGENTS =
            new StreamAgent[Math.min(MAX_AGENTS, Runtime.getRuntime().availableProcessors())];

    /** How the agent sleeps on communicators that are new to it; below, on those that it knows. */
    private final ConcurrentLinkedQueue<Sleep> arrivals = new ConcurrentLinkedQueue<>();

    private final List<Sleep> active = new ArrayList<>();
    private final Thread thread;

    /**
     * On whose peers the agent sleeps; written by the agent (volatile), read by threads that
     * attend.
     */
    private volatile @Nullable CommExecutor asleepOn;

    private int round;

    private StreamAgent(int k) {
        thread = Threads.daemon("jccl-stream-" + k, this);
        thread.start();
    }

    /**
     * Has an agent look after the communicator until nothing is under way on it. If that is
     * impossible, perhaps for want of a thread, the communicator fails, which threads that poll
     * see: nothing is thrown, and nothing waits for ever.
     */
    public static void attend(CommExecutor executor) {
        if (!executor.gate.startAttending()) {
            return;
        }
        StreamAgent agent;
        try {
            agent = of(executor);
            agent.arrivals.add(new Sleep(executor, agent.arrivals));
        } catch (RuntimeException | Error e) {
            executor.gate.stopAttending();
            Parting.stop(executor, Unforeseen.of(e, "in an operation").on(executor.name));
            return;
        }
        LockSupport.unpark(agent.thread);
        CommExecutor asleep = agent.asleepOn;
        if (asleep != null) {
            asleep.wakeSleepers();
        }
    }

    /** The calling thread does not wait on the communicator any more. */
    static void stopWaiting(CommExecutor executor) {
        if (executor.gate.stopWaiting() && executor.busy() && executor.gate.attended()) {
            LockSupport.unpark(of(executor).thread);
        }
    }

    /** The place in {@link #AGENTS} of the agent that looks after a communicator. */
    static int place(CommExecutor executor) {
        return Math.floorMod(executor.gate.number, AGENTS.length);
    }

    private static StreamAgent of(CommExecutor executor) {
        int k = place(executor);
        synchronized (AGENTS) {
            StreamAgent agent = AGENTS[k];
            if (agent == null) {
                agent = made(k);
                AGENTS[k] = agent;
            }
            return agent;
        }
    }

    /** If no thread can be started, another agent serves for good. */
    private static StreamAgent made(int k) {
        try {
            return new StreamAgent(k);
        } catch (Error noThread) {
            for (StreamAgent other : AGENTS) {
                if (other != null) {
                    return other;
                }
            }
            throw noThread;
        }
    }

    /** The thread outlives every failure: nobody else progresses its communicators. */
    @Override
    public void run() {
        while (true) {
            try {
                turn();
            } catch (RuntimeException | Error failure) {
                Log.survived("jccl-stream goes on after: ", failure);
                LockSupport.parkNanos(this, PAUSE_NS);
            }
        }
    }

    private void turn() {
        for (Sleep each = arrivals.poll(); each != null; each = arrivals.poll()) {
            active.add(each);
            round = 0;
        }
        if (active.isEmpty()) {
            LockSupport.park(this);
            return;
        }
        boolean moved = false;
        boolean alone = true;
        boolean onDevices = false;
        boolean onHost = false;
        for (int i = active.size() - 1; i >= 0; i--) {
            CommExecutor executor = active.get(i).executor();
            if (executor.gate.closed() || !executor.busy()) {
                active.remove(i);
                turnAway(executor);
            } else if (executor.gate.waiting()) {
                alone = false;
            } else {
                moved |= executor.gate.visit(executor::tryProgress);
                boolean there = executor.onDeviceAlone();
                onDevices |= there;
                onHost |= !there;
            }
        }
        round = moved ? 0 : round + 1;
        rest(alone, onDevices && !onHost);
    }

    /**
     * Stops attending, unless an operation has begun meanwhile: it found its communicator attended.
     */
    static void turnAway(CommExecutor executor) {
        executor.gate.stopAttending();
        if (executor.busy() && !executor.gate.closed()) {
            attend(executor);
        }
    }

    private void rest(boolean alone, boolean onDevices) {
        if (active.isEmpty() || (round == 0 && !onDevices)) {
            return;
        }
        if (onDevices && round < DEVICE_NAPS) {
            LockSupport.parkNanos(this, DEVICE_NAP_NS);
        } else if (!alone) {
            LockSupport.parkNanos(this, NAP_NS);
        } else if (!onDevices && round <= YIELDS) {
            boolean lone = active.getFirst().executor().loneOnCores;
            round = Threads.yieldInCrowd(lone) ? YIELDS : round;
        } else if (active.size() == 1) {
            sleep(active.getFirst());
        } else {
            for (Sleep each : active) {
                each.once(null, false, System.nanoTime() + NAP_NS / active.size());
            }
        }
    }

    /** Sleeps once; a communicator that arrives ends the sleep. */
    private void sleep(Sleep sleep) {
        asleepOn = sleep.executor();
        try {
            if (arrivals.isEmpty()) {
                sleep.once(null, true, 0);
            }
        } finally {
            asleepOn = null;
        }
    }
}
