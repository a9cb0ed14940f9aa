package org.jccl.platform;

/** What the scheduler offers. */
public final class Threads {
    private Threads() {}

    /** Lets another runnable thread of this core run. */
    @SuppressWarnings("NamedLikeContextualKeyword")
    public static void yield() {
        SystemCall.plain(SystemCall.SCHED_YIELD, 0, 0, 0, 0, 0);
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
