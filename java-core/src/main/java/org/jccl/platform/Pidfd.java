package org.jccl.platform;

/** Descriptors of processes: they tell the end of a process and survive the reuse of its number. */
public final class Pidfd {
    private Pidfd() {}

    /** A descriptor of this process (close-on-exec), or -errno. */
    public static int open(int pid) {
        return (int) SystemCall.call(SystemCall.PIDFD_OPEN, pid, 0);
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
