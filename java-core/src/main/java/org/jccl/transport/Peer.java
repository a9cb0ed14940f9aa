package org.jccl.transport;

import org.jccl.type.ErrorKind;
import org.jspecify.annotations.Nullable;

/**
 * A rank as this one reaches it: its region, and how bytes get into that. The methods here serve
 * memory that both ranks reach; a transport that sends bytes overrides them, {@link #post} above
 * all.
 *
 * <p>Used by the owner of the communicator only.
 */
public abstract class Peer implements AutoCloseable {
    private final Region region;
    private boolean closed;

    /** A peer that owns the region. */
    protected Peer(Region region) {
        this.region = region;
    }

    /** Its region, or the mirror of it. */
    public final Region region() {
        return region;
    }

    /** Whether bytes have to be sent to it: its region is a mirror. */
    public boolean isRemote() {
        return false;
    }

    /** Whether it may end while this process goes on. */
    public abstract boolean endsAlone();

    /**
     * Takes what has arrived from it.
     *
     * @return whether its region may have changed
     */
    public boolean receive() {
        return true;
    }

    /**
     * Queues a frame for it and sends what the system takes. Its bytes must stay unchanged until
     * {@link #sending} is false; the object may be filled anew. Only a remote peer takes any.
     *
     * @return false if the queue is full: progress and try again
     */
    public boolean post(Frame frame) {
        throw ErrorKind.IMPOSSIBLE.says("rank %s has no TCP link", region.rank());
    }

    /**
     * Copies from memory of its process into this one's.
     *
     * @param from an address in its process
     * @return false if it has given up or ended, so that what was read is worth nothing
     * @throws org.jccl.type.NcclException SYSTEM_ERROR if the system refuses it
     */
    public abstract boolean read(long from, long to, long bytes);

    /** Sends what the system takes; whether nothing waits any more. */
    public boolean flush() {
        return true;
    }

    /** Whether something waits to be sent. */
    public boolean sending() {
        return false;
    }

    /** Whether something that was posted will never be sent. */
    public boolean dropped() {
        return false;
    }

    /** Makes what waits to be sent independent of the callers' buffers. */
    public void rescue() {}

    /** The descriptor to poll for what arrives, -1 if there is none. */
    public int descriptor() {
        return -1;
    }

    /** Asks the system, and says why nothing more can come from it; null while it lives. */
    public abstract @Nullable String ended();

    /** Whether nothing of what it has sent can arrive any more. */
    public boolean heardOut() {
        return true;
    }

    /** Whether its machine has not answered for {@code limitMs}, and so counts as lost. */
    public boolean silent(long limitMs) {
        return false;
    }

    /**
     * Goes on with a parting in which neither side loses what the other has sent; nothing can be
     * received afterwards.
     *
     * @return whether it is over
     */
    public boolean part() {
        return true;
    }

    /** Frees what belongs to the transport. */
    protected abstract void disconnect();

    @Override
    public final void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            disconnect();
        } finally {
            region.close();
        }
    }
}
