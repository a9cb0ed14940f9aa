package org.jccl.platform;

/**
 * A full memory barrier on every running thread of every registered process, paid by the caller
 * alone. A waker stores its flag, then reads the waiter word without a fence; a sleeper writes the
 * waiter word, calls {@link #full}, reads the flag again and only then sleeps. Where the system has
 * no such call, a wake-up may be missed, so every sleep must be bounded; JCCL's are.
 */
public final class Membarrier {
    private static final int GLOBAL_EXPEDITED = 2;
    private static final int REGISTER_GLOBAL_EXPEDITED = 4;

    /** Whether {@link #full} does anything. */
    static final boolean REGISTERED = call(REGISTER_GLOBAL_EXPEDITED) == 0;

    private Membarrier() {}

    /**
     * Registers this process, once; a process that shares memory with others must call it before it
     * wakes them, even if it never sleeps itself.
     */
    public static void register() {
        // The class initialiser has done it.
    }

    /** The barrier; returns when all registered processes have passed it. */
    public static void full() {
        if (REGISTERED) {
            call(GLOBAL_EXPEDITED);
        }
    }

    private static long call(int command) {
        return SystemCall.plain(SystemCall.MEMBARRIER, command, 0, 0, 0, 0);
    }
}
