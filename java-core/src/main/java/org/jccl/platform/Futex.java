package org.jccl.platform;

import java.lang.invoke.MethodHandle;

/** Sleeping on a 32-bit word that may lie in memory shared between processes. */
public final class Futex {
    private static final long NUMBER = Libc.X86 ? 202 : 98;
    private static final int FUTEX_WAIT = 0;
    private static final int FUTEX_WAKE = 1;
    private static final long SECOND_NS = 1_000_000_000L;
    private static final MethodHandle SYSCALL =
            Libc.capturingVariadic(
                    "syscall", 1, Libc.LONG, Libc.LONG, Libc.LONG, Libc.INT, Libc.INT, Libc.LONG);

    private Futex() {}

    /**
     * Sleeps until woken, until {@code timeoutNs} nanoseconds have passed, or not at all if the
     * word is not {@code expected}. It may also return without a reason: look again.
     */
    public static void await(long address, int expected, long timeoutNs) {
        if (timeoutNs <= 0) {
            return;
        }
        CallState state = CallState.current();
        Memory.putLong(state.timespec(), timeoutNs / SECOND_NS);
        Memory.putLong(state.timespec() + 8, timeoutNs % SECOND_NS);
        try {
            long result =
                    (long)
                            SYSCALL.invokeExact(
                                    state.segment,
                                    NUMBER,
                                    address,
                                    FUTEX_WAIT,
                                    expected,
                                    state.timespec());
            if (result < 0) {
                check(state.errno());
            }
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** Wakes at most {@code n} sleepers. */
    public static void wake(long address, int n) {
        CallState state = CallState.current();
        try {
            long result =
                    (long) SYSCALL.invokeExact(state.segment, NUMBER, address, FUTEX_WAKE, n, 0L);
            if (result < 0) {
                check(state.errno());
            }
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    private static void check(int errno) {
        if (errno != Errno.EAGAIN && errno != Errno.ETIMEDOUT && errno != Errno.EINTR) {
            throw new IllegalStateException("futex: " + Errno.text(errno));
        }
    }
}
