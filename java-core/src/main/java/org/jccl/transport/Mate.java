package org.jccl.transport;

import org.jccl.platform.Errno;
import org.jccl.platform.ProcessMemory;
import org.jccl.platform.ProcessWatch;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/** A rank whose region this one maps: another of its process or node, or itself. */
public final class Mate extends Peer {
    /** How much is read between two looks at whether the rank has given up. */
    private static final long BLOCK_BYTES = 1 << 20;

    /** How long the end of a process that has given its memory away may take to be known. */
    private static final long ENDING_NS = 4_000_000_000L;

    /** The same while the kernel takes pages away from a process that it kills. */
    private static final long REAPED_NS = 200_000_000L;

    private final @Nullable ProcessWatch watch;
    private final int pid;

    /** When its memory could first not be read, 0 if it can be. */
    private long endingSinceNs;

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
                if (region().status() != 0 || ended() != null || isEnding((int) -n)) {
                    return false;
                }
                throw refused((int) -n);
            }
            endingSinceNs = 0;
            done += n;
            if (region().status() != 0) {
                return false;
            }
        }
        return watch == null || !watch.readsAnother();
    }

    /** A process that ends gives its memory away before it is known to have ended. */
    private boolean isEnding(int errno) {
        if (watch == null || (errno != Errno.ESRCH && errno != Errno.EFAULT)) {
            return false;
        }
        long nowNs = System.nanoTime();
        endingSinceNs = endingSinceNs == 0 ? nowNs : endingSinceNs;
        return nowNs - endingSinceNs < (errno == Errno.ESRCH ? ENDING_NS : REAPED_NS);
    }

    private NcclException refused(int errno) {
        int rank = region().rank();
        return errno == Errno.EFAULT
                ? ErrorKind.BUFFER_UNREADABLE.says(
                        "the buffer of rank %s, or this rank's own, ends before the elements of the"
                                + " call do, or is memory that other processes cannot read (%s);"
                                + " pass buffers of count elements in ordinary memory, or set"
                                + " NCCL_P2P_READ_ENABLE=0 on all ranks",
                        rank, Errno.text(errno))
                : ErrorKind.UNREADABLE.says(
                        "the system does not let this process read the memory of rank %s's (%s); "
                                + "set NCCL_P2P_READ_ENABLE=0 on all ranks",
                        rank, Errno.text(errno));
    }

    @Override
    public @Nullable String ended() {
        if (watch == null || !watch.ended()) {
            return null;
        }
        return watch.replaced() ? "its process became another program (exec)" : "its process ended";
    }

    @Override
    protected void disconnect() {
        if (watch != null) {
            watch.close();
        }
    }
}
