package org.jccl.platform;

/** What the scheduler offers. */
public final class Threads {
    private Threads() {}

    /** Lets another runnable thread of this core run. */
    @SuppressWarnings("NamedLikeContextualKeyword")
    public static void yield() {
        SystemCall.call(SystemCall.SCHED_YIELD);
    }

    /**
     * From now on the calling thread, and on Linux no other, gives way to busy threads: it gets
     * about a third of what one of them does.
     */
    public static void giveWay() {
        long thisThread = 0;
        SystemCall.call(SystemCall.SETPRIORITY, 0, thisThread, 5);
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
