package org.jccl.platform;

import java.lang.invoke.MethodHandle;

/** Descriptors of processes: they tell the end of a process and survive the reuse of its number. */
public final class Pidfd {
    private static final long NUMBER = 434;
    private static final MethodHandle SYSCALL =
            Libc.capturingVariadic("syscall", 1, Libc.LONG, Libc.LONG, Libc.INT, Libc.INT);

    private Pidfd() {}

    /** A descriptor of this process (close-on-exec), or -errno. */
    public static int open(int pid) {
        CallState state = CallState.current();
        try {
            long result = (long) SYSCALL.invokeExact(state.segment, NUMBER, pid, 0);
            return result < 0 ? -state.errno() : (int) result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** Whether the process has ended, as a zombie or altogether. Does not wait. */
    public static boolean hasExited(int pidfd) {
        return Sockets.pollOne(pidfd, Sockets.POLLIN, 0) > 0;
    }

    /** Closes the descriptor. */
    public static void close(int pidfd) {
        Descriptors.close(pidfd);
    }
}
