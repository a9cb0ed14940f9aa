package org.jccl.progress;

import org.jccl.log.Log;
import org.jccl.platform.Threads;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.locks.LockSupport;

/**
 * Thread {@code jccl-stream-k}: progresses communicators on which asynchronous operations are under
 * way and nobody waits. There is at most one per core, made when first needed; a communicator
 * always belongs to the same one.
 */
public final class StreamAgent implements Runnable {
    private static final int MAX_AGENTS = 4;

    /** The pause after a failure, which may last. */
    private static final long PAUSE_NS = 100_000_000;

    static final @Nullable StreamAgent[] AGENTS =
            new StreamAgent[Math.min(MAX_AGENTS, Runtime.getRuntime().availableProcessors())];

    private final Attendant attendant;

    private StreamAgent(int k) {
        Thread thread = Threads.daemon("jccl-stream-" + k, this);
        attendant = new Attendant(thread, () -> false);
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
        Attendant attendant;
        try {
            if (Lender.attend(executor)) {
                return;
            }
            attendant = of(executor).attendant;
            attendant.add(executor);
        } catch (RuntimeException | Error e) {
            executor.gate.stopAttending();
            Parting.stop(executor, Unforeseen.of(e, "in an operation").on(executor.name));
            return;
        }
        attendant.wake();
    }

    /** The calling thread does not wait on the communicator any more. */
    static void stopWaiting(CommExecutor executor) {
        if (executor.gate.stopWaiting() && executor.busy() && executor.gate.attended()) {
            LockSupport.unpark(executor.gate.attendant);
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
                attendant.turn(0);
            } catch (RuntimeException | Error failure) {
                Log.survived("jccl-stream goes on after: ", failure);
                LockSupport.parkNanos(this, PAUSE_NS);
            }
        }
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
}
