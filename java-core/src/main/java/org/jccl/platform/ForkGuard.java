package org.jccl.platform;

/**
 * Tells the C library which sockets a forked child must close, so that a peer sees the end of a
 * connection when its process dies. Without the C library nothing forks behind Java's back, and the
 * calls do nothing.
 */
public final class ForkGuard {
    private ForkGuard() {}

    /** This descriptor must not live on in a forked child. */
    public static void track(int fd) {
        try {
            track0(fd);
        } catch (UnsatisfiedLinkError withoutLibrary) {
            // Java was started without the C library.
        }
    }

    /** The descriptor is about to be closed. */
    public static void untrack(int fd) {
        try {
            untrack0(fd);
        } catch (UnsatisfiedLinkError withoutLibrary) {
            // As above.
        }
    }

    private static native void track0(int fd);

    private static native void untrack0(int fd);
}
