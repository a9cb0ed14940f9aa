package org.jccl.platform;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.LockSupport;

/** Calls on the scheduler. */
public final class Threads {
    /** A turn that takes longer shows that threads that wait for nothing want the core. */
    private static final long CROWDED_NS = 500_000;

    /** The same where other ranks share the core: they may work for so long. */
    private static final long CROWDED_BY_OTHERS_NS = 2_000_000;

    /**
     * After a crowded turn nobody yields for a multiple of the time that it took, so that finding
     * out whether the crowd has gone costs at most that fraction of the time. A first crowded turn
     * may be a compiler's, which is soon over, and counts little; each that follows soon counts
     * twice as much as the one before.
     */
    private static final int LEAST_TURNS = 2;

    private static final int MOST_TURNS = 32;

    /** A crowded turn so soon after the time in which nobody yielded is the same crowd's. */
    private static final long SOON_NS = 50_000_000;

    private static final long PAUSE_NS = 50_000;
    private static final int STATISTIC_BYTES = 128;
    private static final int SIG_BLOCK = 0;
    private static final int SIGPIPE = 13;
    private static final int SIGXFSZ = 25;
    private static final double SECOND_NS = 1e9;

    /**
     * System.nanoTime until which no thread of the process yields, 0 at first. Written by a thread
     * after a crowded turn, read by all that wait (volatile); if a write is lost, the next turn
     * finds it out again.
     */
    private static volatile long dearUntilNs;

    /** The multiple after the last crowded turn; written and read as the field above. */
    private static volatile int dearTurns = LEAST_TURNS;

    private Threads() {}

    /**
     * A daemon, not started, that takes over nothing of the calling thread: it may serve whoever
     * comes later, and its group is not to be interrupted with that of some program.
     */
    public static Thread daemon(String name, Runnable body) {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        for (ThreadGroup above = root; above != null; above = above.getParent()) {
            root = above;
        }
        Thread thread = new Thread(root, body, name, 0, false);
        thread.setDaemon(true);
        thread.setPriority(Thread.NORM_PRIORITY);
        return thread;
    }

    /**
     * The calling thread's writes fail with an error from now on where the system would end the
     * process: by SIGPIPE if nobody reads the pipe any more, by SIGXFSZ if the file is as long as
     * the process may make it. The program may want these signals, so that other threads keep them.
     */
    public static void writesEndNoProcess() {
        try (Arena arena = Arena.ofConfined()) {
            long set = arena.allocate(Long.BYTES, Long.BYTES).address();
            Memory.putLong(set, 1L << SIGPIPE - 1 | 1L << SIGXFSZ - 1);
            SystemCall.call(SystemCall.RT_SIGPROCMASK, SIG_BLOCK, set, 0, Long.BYTES);
        }
    }

    /** Lets another runnable thread of this core run. */
    public static void yield() {
        SystemCall.plain(SystemCall.SCHED_YIELD, 0, 0, 0, 0, 0);
    }

    /**
     * As {@link #yield}, but while yields are dear it does nothing.
     *
     * @param lone whether the caller's rank has a core of its own
     * @return whether the caller should sleep instead: Linux puts a thread that yields behind all
     *     others by a whole slice each time, but not one that slept
     */
    public static boolean yieldInCrowd(boolean lone) {
        long before = System.nanoTime();
        long dearUntil = dearUntilNs;
        if (dearUntil != 0 && before - dearUntil < 0) {
            return true;
        }
        Threads.yield();
        long after = System.nanoTime();
        long tookNs = after - before;
        if (tookNs <= (lone ? CROWDED_NS : CROWDED_BY_OTHERS_NS)) {
            return false;
        }
        boolean again = dearUntil != 0 && before - dearUntil < SOON_NS;
        int turns = again ? Math.min(MOST_TURNS, 2 * dearTurns) : LEAST_TURNS;
        dearTurns = turns;
        dearUntilNs = after + turns * tookNs;
        return true;
    }

    /**
     * For how many nanoseconds in all the calling thread has had to wait for a core although it
     * could run; -1 if the system does not say so. Takes some microseconds.
     */
    public static long delayedNs() {
        // Time on a core, time of waiting for one, number of turns.
        return (long) statistic("/proc/thread-self/schedstat", 1);
    }

    /**
     * For how many nanoseconds in all the cores of this machine were idle, all together, to some 10
     * ms; -1 if the system does not say so. Takes some microseconds.
     */
    public static long idleNs() {
        // Time since the start of the machine, idle time of all cores, both in seconds.
        double seconds = statistic("/proc/uptime", 1);
        return seconds < 0 ? -1 : (long) (seconds * SECOND_NS);
    }

    /** Number {@code i} of a file of one line of numbers; -1 if there is none. */
    private static double statistic(String path, int i) {
        int fd = Descriptors.open(path, 0);
        if (fd < 0) {
            return -1;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(STATISTIC_BYTES);
            long at = text.address();
            long n = SystemCall.call(SystemCall.READ, fd, at, STATISTIC_BYTES - 1);
            // A zero ends the text.
            String[] numbers = n > 0 ? text.getString(0).strip().split(" ", -1) : new String[0];
            return i < numbers.length ? Double.parseDouble(numbers[i]) : -1;
        } catch (NumberFormatException unknownForm) {
            return -1;
        } finally {
            Descriptors.close(fd);
        }
    }

    /** Waits a little for what another thread is about to do; {@code round} counts from 0. */
    public static void pause(int round) {
        if (round == 0) {
            giveWay();
        } else {
            nap(PAUSE_NS);
        }
    }

    /** Parks for so long at most. */
    public static void nap(long ns) {
        // A thread that is being interrupted cannot sleep.
        if (Thread.currentThread().isInterrupted()) {
            giveWay();
        } else {
            LockSupport.parkNanos(ns);
        }
    }

    /** A virtual thread lets others have its carrier, which a system call would keep. */
    private static void giveWay() {
        if (Thread.currentThread().isVirtual()) {
            Thread.yield();
        } else {
            Threads.yield();
        }
    }

    /** The system's number of the calling thread. */
    public static long id() {
        return SystemCall.call(SystemCall.GETTID, 0);
    }
}
