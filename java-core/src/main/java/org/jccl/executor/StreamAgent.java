package org.jccl.executor;

import org.jccl.platform.Threads;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Thread {@code jccl-stream-k}: progresses communicators on which asynchronous operations are under
 * way and nobody waits. At most one a core, each made when first needed; a communicator always
 * belongs to the same one.
 */
public final class StreamAgent implements Runnable {
    private static final int MAX_AGENTS = 4;
    private static final int YIELDS = 50;
    private static final long NAP_NS = 1_000_000;
    private static final @Nullable StreamAgent[] AGENTS =
            new StreamAgent[Math.min(MAX_AGENTS, Threads.processorCount())];

    private final ConcurrentLinkedQueue<CommExecutor> arrivals = new ConcurrentLinkedQueue<>();
    private final List<CommExecutor> active = new ArrayList<>();
    private final Thread thread;

    private StreamAgent(int k) {
        thread = new Thread(this, "jccl-stream-" + k);
        thread.setDaemon(true);
        thread.start();
    }

    /** Looks after the communicator until nothing is under way on it. */
    public static void attend(CommExecutor executor) {
        if (executor.gate().startAttending()) {
            StreamAgent agent = of(executor);
            agent.arrivals.add(executor);
            LockSupport.unpark(agent.thread);
        }
    }

    /** Somebody who waited on the communicator has gone. */
    static void recall(CommExecutor executor) {
        if (executor.gate().attended()) {
            LockSupport.unpark(of(executor).thread);
        }
    }

    private static StreamAgent of(CommExecutor executor) {
        int k = Math.floorMod(executor.gate().number(), AGENTS.length);
        synchronized (AGENTS) {
            StreamAgent agent = AGENTS[k];
            if (agent == null) {
                agent = new StreamAgent(k);
                AGENTS[k] = agent;
            }
            return agent;
        }
    }

    @Override
    public void run() {
        int round = 0;
        while (true) {
            for (CommExecutor e = arrivals.poll(); e != null; e = arrivals.poll()) {
                active.add(e);
                round = 0;
            }
            if (active.isEmpty()) {
                LockSupport.park(this);
                continue;
            }
            boolean moved = false;
            boolean alone = true;
            for (int i = active.size() - 1; i >= 0; i--) {
                CommExecutor executor = active.get(i);
                if (executor.gate().closed() || !executor.busy()) {
                    active.remove(i);
                    executor.gate().stopAttending();
                    if (executor.busy() && !executor.gate().closed()) {
                        attend(executor);
                    }
                } else if (executor.gate().waiting()) {
                    alone = false;
                } else {
                    moved |= advance(executor);
                }
            }
            round = moved ? 0 : round + 1;
            rest(round, alone);
        }
    }

    private static boolean advance(CommExecutor executor) {
        if (!executor.gate().enter()) {
            return false;
        }
        try {
            if (!executor.gate().tryOwn()) {
                return false;
            }
            try {
                return executor.progress();
            } finally {
                executor.gate().release();
            }
        } finally {
            executor.gate().leave();
        }
    }

    private void rest(int round, boolean alone) {
        if (round == 0 || active.isEmpty()) {
            return;
        }
        if (!alone) {
            LockSupport.parkNanos(this, NAP_NS);
        } else if (round <= YIELDS) {
            Threads.yield();
        } else if (active.size() == 1) {
            Waiter.sleep(active.getFirst(), null, round - YIELDS, 0);
        } else {
            for (CommExecutor executor : active) {
                Waiter.sleep(executor, null, 1, System.nanoTime() + NAP_NS / active.size());
            }
        }
    }
}
