package org.jccl.platform;

/** Sleeping on a 32-bit word that may lie in memory shared between processes. */
public final class Futex {
    private static final int FUTEX_WAIT = 0;
    private static final int FUTEX_WAKE = 1;

    private Futex() {}

    /**
     * Sleeps until woken, until {@code timeoutNs} nanoseconds have passed, or not at all if the
     * word is not {@code expected}. It may also return without a reason: look again.
     */
    public static void await(long address, int expected, long timeoutNs) {
        if (timeoutNs <= 0) {
            return;
        }
        long timespec = CallState.current().timespec(timeoutNs);
        SystemCall.plain(SystemCall.FUTEX, address, FUTEX_WAIT, expected, timespec, 0);
    }

    /** Wakes at most {@code n} sleepers. */
    public static void wake(long address, int n) {
        SystemCall.plain(SystemCall.FUTEX, address, FUTEX_WAKE, n, 0, 0);
    }
}
