package org.jccl.platform;

/**
 * Tells the C library which sockets a forked child must close, so that a peer sees the end of a
 * connection when its process dies. Without the C library nothing forks behind Java's back, and
 * nobody is told.
 */
public final class ForkGuard {
    private ForkGuard() {}

    /** A system call that makes a descriptor, whose copy a forked child must close. */
    static int open(long number, long a, long b, long c, long d) {
        boolean guarded = begin();
        try {
            int fd = (int) SystemCall.call(number, a, b, c, d);
            if (guarded && fd >= 0) {
                track0(fd);
            }
            return fd;
        } finally {
            end(guarded);
        }
    }

    /** Closes such a descriptor. */
    static void close(int fd) {
        boolean guarded = begin();
        try {
            if (guarded) {
                untrack0(fd);
            }
            Descriptors.close(fd);
        } finally {
            end(guarded);
        }
    }

    /** Keeps forks out until {@link #end}, whose argument it returns. */
    private static boolean begin() {
        try {
            begin0();
            return true;
        } catch (UnsatisfiedLinkError withoutLibrary) {
            // Java was started without the C library.
            return false;
        }
    }

    private static void end(boolean guarded) {
        if (guarded) {
            end0();
        }
    }

    /** The program that has started Java ends it: no thread may enter it any more. */
    public static void hostEnds() {
        try {
            hostEnds0();
        } catch (UnsatisfiedLinkError withoutLibrary) {
            // Java was started without the C library.
        }
    }

    private static native void hostEnds0();

    private static native void begin0();

    private static native void end0();

    private static native void track0(int fd);

    private static native void untrack0(int fd);
}
