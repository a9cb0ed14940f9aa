package org.jccl.platform;

import org.jccl.type.ErrorKind;

/** A descriptor by which any thread ends another thread's poll. */
public final class Wakeup implements AutoCloseable {
    // Written by close, read by signal and drain, all under this object's lock: -1 when closed.
    private int fd;

    /** A new one, not signalled. */
    public Wakeup() {
        int flags = Descriptors.NONBLOCK | Descriptors.CLOEXEC;
        fd = (int) SystemCall.call(SystemCall.EVENTFD2, 0, flags);
        if (fd < 0) {
            throw ErrorKind.SYSTEM_CALL.says("eventfd: %s", Errno.text(-fd));
        }
    }

    /** The descriptor to poll for reading, or -1 when closed. */
    public synchronized int fd() {
        return fd;
    }

    /** Makes the descriptor readable. */
    public synchronized void signal() {
        if (fd >= 0) {
            long one = CallState.current().option;
            Memory.putLong(one, 1);
            SystemCall.call(SystemCall.WRITE, fd, one, 8);
        }
    }

    /** Clears all signals. */
    public synchronized void drain() {
        if (fd >= 0) {
            SystemCall.call(SystemCall.READ, fd, CallState.current().option, 8);
        }
    }

    @Override
    public synchronized void close() {
        if (fd >= 0) {
            Descriptors.close(fd);
            fd = -1;
        }
    }
}
