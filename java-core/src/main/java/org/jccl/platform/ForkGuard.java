package org.jccl.platform;

/**
 * Tells the C library which sockets a forked child must close, so that a peer sees the end of a
 * connection when its process dies. Without the C library nothing forks behind Java's back, and the
 * calls do nothing.
 */
public final class ForkGuard {
    private ForkGuard() {}

    /**
     * Keeps forks out until {@link #end}: this thread makes or closes descriptors.
     *
     * @return whether there is anything to end
     */
    static boolean begin() {
        try {
            begin0();
            return true;
        } catch (UnsatisfiedLinkError withoutLibrary) {
            // Java was started without the C library.
            return false;
        }
    }

    /** Lets forks in again; {@code begun} is the answer of {@link #begin}. */
    static void end(boolean begun) {
        if (begun) {
            end0();
        }
    }

    /** This descriptor must not live on in a forked child. */
    static void track(boolean begun, int fd) {
        if (begun && fd >= 0) {
            track0(fd);
        }
    }

    /** The descriptor is about to be closed. */
    static void untrack(boolean begun, int fd) {
        if (begun) {
            untrack0(fd);
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
