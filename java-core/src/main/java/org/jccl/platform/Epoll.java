package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

import java.lang.foreign.Arena;

/**
 * Many descriptors, polled as one: a look takes time only for those that are ready. Used by one
 * thread at a time.
 */
public final class Epoll implements AutoCloseable {
    private static final int ADD = 1;
    private static final int DELETE = 2;

    /** struct epoll_event is packed: int events, then 8 bytes of the caller's. */
    static final int DATA = 4;

    private static final int EVENT_BYTES = 12;

    private final int most;
    // Freed with this object.
    private final Arena arena = Arena.ofAuto();
    private final long events;
    private final int fd;

    /**
     * Watches nothing yet.
     *
     * @param most how many ready descriptors a look finds at once
     * @throws NcclException SYSTEM_ERROR if the system gives none
     */
    public Epoll(int most) {
        this.most = most;
        events = arena.allocate((long) most * EVENT_BYTES, 8).address();
        fd = (int) SystemCall.call(SystemCall.EPOLL_CREATE1, Descriptors.CLOEXEC);
        if (fd < 0) {
            throw ErrorKind.SYSTEM_CALL.says("epoll_create1: %s", Errno.text(-fd));
        }
    }

    /** A descriptor that is ready to read while one of the watched ones is. */
    public int fd() {
        return fd;
    }

    /** Watches a descriptor for data or the end of its stream; 0 or -errno. */
    public int add(int watched) {
        long event = CallState.current().option;
        Memory.putInt(event, Sockets.POLLIN);
        Memory.putLong(event + DATA, watched);
        return (int) SystemCall.call(SystemCall.EPOLL_CTL, fd, ADD, watched, event);
    }

    /**
     * Stops watching it. Call this before the descriptor is closed: as long as a forked child has a
     * copy, the system would go on reporting it.
     */
    public void remove(int watched) {
        SystemCall.call(SystemCall.EPOLL_CTL, fd, DELETE, watched, 0);
    }

    /**
     * Looks, without waiting, for ready ones: how many there are, at most {@code most}.
     *
     * @throws NcclException SYSTEM_ERROR if the system refuses
     */
    public int look() {
        int found = (int) SystemCall.call(SystemCall.EPOLL_PWAIT, fd, events, most, 0, 0);
        if (found < 0 && found != -Errno.EINTR) {
            throw ErrorKind.SYSTEM_CALL.says("epoll_pwait: %s", Errno.text(-found));
        }
        return Math.max(0, found);
    }

    /** The descriptor that the last look found there. */
    public int found(int index) {
        return (int) Memory.getLong(events + (long) index * EVENT_BYTES + DATA);
    }

    @Override
    public void close() {
        Descriptors.close(fd);
    }
}
