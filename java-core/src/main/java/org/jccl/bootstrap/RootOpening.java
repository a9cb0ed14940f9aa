package org.jccl.bootstrap;

import org.jccl.platform.Errno;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * Rank 0's part where the ranks meet at a known address: it opens the root there. Used by one
 * thread at a time.
 */
final class RootOpening implements AutoCloseable {
    /** How long to wait between attempts. */
    static final int PAUSE_MS = 50;

    /** A root before this one, or a process that dies, may need a moment to free the port. */
    private static final long BUSY_NS = 3_000_000_000L;

    private final IdContent id;
    private final long sinceNs = System.nanoTime();
    private @Nullable Root root;

    RootOpening(IdContent id) {
        this.id = id;
    }

    /** The root once it is open, null before. */
    @Nullable Root root() {
        return root;
    }

    /** The reason why it is not open yet, for sentences. */
    String obstacle() {
        return "opening the root at " + id.root() + ": " + Errno.text(Errno.EADDRINUSE);
    }

    /**
     * Does what can be done without waiting; true when ranks can connect.
     *
     * @throws NcclException with INVALID_USAGE if the address cannot be listened on; or why the
     *     others, who came before this rank was accepted itself, could not meet
     */
    boolean advance() {
        if (root != null) {
            NcclException.throwIfAny(root.failure());
            return true;
        }
        int fd = ListeningSocket.open(id.root());
        if (fd >= 0) {
            root = Listener.openRoot(fd, id);
            return true;
        }
        if (fd != -Errno.EADDRINUSE || System.nanoTime() - sinceNs > BUSY_NS) {
            throw ErrorKind.ROOT_NOT_OPENED.says(
                    "rank 0 cannot open the root at the known address %s: %s%s",
                    id.root(),
                    Errno.text(-fd),
                    fd == -Errno.EADDRINUSE
                            ? ": another job or program listens there, or another communicator is"
                                    + " being initialised there, which takes one at a time; choose"
                                    + " another port"
                            : "; it must be an address of the machine on which rank 0 runs, and a"
                                    + " free port");
        }
        return false;
    }

    /** Rank 0 needs it no longer. */
    @Override
    public void close() {
        if (root != null) {
            root.leave();
        }
    }
}
