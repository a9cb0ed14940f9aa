package org.jccl.transport;

import org.jccl.platform.Errno;
import org.jccl.platform.ProcessMemory;
import org.jccl.platform.ProcessWatch;
import org.jccl.type.PeerError;
import org.jspecify.annotations.Nullable;

/** A rank whose region this one maps: another of its process or node, or itself. */
public final class Mate extends Peer {
    /** How much is read between two looks at whether the rank has given up. */
    private static final long BLOCK_BYTES = 1 << 20;

    private final @Nullable ProcessWatch watch;
    private final int pid;

    /**
     * A mate, which owns the region and the watch.
     *
     * @param watch on its process, null if that is this one
     * @param pid its process
     */
    public Mate(Region region, @Nullable ProcessWatch watch, int pid) {
        super(region);
        this.watch = watch;
        this.pid = pid;
    }

    @Override
    public boolean endsAlone() {
        return watch != null;
    }

    @Override
    public boolean read(long from, long to, long bytes) {
        for (long done = 0; done < bytes; ) {
            long length = Math.min(BLOCK_BYTES, bytes - done);
            long n = ProcessMemory.read(pid, from + done, to + done, length);
            if (n <= 0) {
                // A process that ends gives its memory away before it is known to have ended.
                if (n == -Errno.ESRCH || region().status() != 0 || ended() != null) {
                    return false;
                }
                throw PeerError.UNREADABLE.says(
                        "the system does not let this process read the memory of rank %s's (%s); "
                                + "set NCCL_P2P_READ_ENABLE=0 on all ranks",
                        region().rank(), Errno.text((int) -n));
            }
            done += n;
            if (region().status() != 0) {
                return false;
            }
        }
        return ended() == null;
    }

    @Override
    public @Nullable String ended() {
        return watch != null && watch.ended() ? "its process ended" : null;
    }

    @Override
    protected void disconnect() {
        if (watch != null) {
            watch.close();
        }
    }
}
