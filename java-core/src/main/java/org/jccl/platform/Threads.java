package org.jccl.platform;

import java.util.concurrent.locks.LockSupport;

/** What the scheduler offers. */
public final class Threads {
    /** A turn that takes longer shows that threads that wait for nothing want the core. */
    private static final long CROWDED_NS = 500_000;

    private static final long PAUSE_NS = 50_000;

    private Threads() {}

    /** Lets another runnable thread of this core run. */
    @SuppressWarnings("NamedLikeContextualKeyword")
    public static void yield() {
        SystemCall.plain(SystemCall.SCHED_YIELD, 0, 0, 0, 0, 0);
    }

    /**
     * As {@link #yield}.
     *
     * @return whether it took so long that the caller should sleep instead: Linux puts a thread
     *     that yields behind all others by a whole slice each time, but not one that slept
     */
    public static boolean yieldInCrowd() {
        long before = System.nanoTime();
        Threads.yield();
        return System.nanoTime() - before > CROWDED_NS;
    }

    /** Waits a little for what another thread is about to do; {@code round} counts from 0. */
    public static void pause(int round) {
        // Of a thread that is being interrupted no sleep lasts.
        if (round == 0 || Thread.currentThread().isInterrupted()) {
            Threads.yield();
        } else {
            LockSupport.parkNanos(PAUSE_NS);
        }
    }

    /** The processors that this process may use now. */
    public static int processorCount() {
        return Runtime.getRuntime().availableProcessors();
    }

    /** The system's number of the calling thread. */
    public static long id() {
        return SystemCall.call(SystemCall.GETTID);
    }
}
