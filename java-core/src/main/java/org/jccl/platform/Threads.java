package org.jccl.platform;

import java.lang.invoke.MethodHandle;

/** What the scheduler offers. */
public final class Threads {
    private static final long GETTID = Libc.X86 ? 186 : 178;
    private static final MethodHandle SCHED_YIELD = Libc.plain("sched_yield", Libc.INT);
    private static final MethodHandle NICE = Libc.plain("nice", Libc.INT, Libc.INT);
    private static final MethodHandle SYSCALL =
            Libc.capturingVariadic("syscall", 1, Libc.LONG, Libc.LONG);

    private Threads() {}

    /** Lets another runnable thread of this core run. */
    @SuppressWarnings("NamedLikeContextualKeyword")
    public static void yield() {
        try {
            int ignored = (int) SCHED_YIELD.invokeExact();
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** From now on the calling thread, and on Linux no other, gives way to everybody else. */
    public static void giveWay() {
        try {
            int ignored = (int) NICE.invokeExact(19);
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** The processors that this process may use now. */
    public static int processorCount() {
        return Runtime.getRuntime().availableProcessors();
    }

    /** The system's number of the calling thread. */
    public static long id() {
        try {
            return (long) SYSCALL.invokeExact(CallState.current().segment, GETTID);
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }
}
