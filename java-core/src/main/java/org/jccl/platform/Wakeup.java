package org.jccl.platform;

import org.jccl.type.NcclException;

import java.lang.invoke.MethodHandle;

/** A descriptor by which any thread ends another thread's poll. */
public final class Wakeup implements AutoCloseable {
    private static final int EFD_CLOEXEC_NONBLOCK = 02000000 | 04000;
    private static final MethodHandle EVENTFD =
            Libc.capturing("eventfd", Libc.INT, Libc.INT, Libc.INT);

    // Written by close, read by signal and drain, all under this object's lock: -1 when closed.
    private int fd;

    /** A new one, not signalled. */
    public Wakeup() {
        CallState state = CallState.current();
        try {
            fd = (int) EVENTFD.invokeExact(state.segment, 0, EFD_CLOEXEC_NONBLOCK);
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
        if (fd < 0) {
            throw NcclException.systemError("eventfd: " + Errno.text(state.errno()));
        }
    }

    /** The descriptor to poll for reading, or -1 when closed. */
    public synchronized int fd() {
        return fd;
    }

    /** Makes the descriptor readable. */
    public synchronized void signal() {
        if (fd >= 0) {
            long one = CallState.current().option();
            Memory.putLong(one, 1);
            Descriptors.write(fd, one, 8);
        }
    }

    /** Takes all signals. */
    public synchronized void drain() {
        if (fd >= 0) {
            Descriptors.read(fd, CallState.current().option(), 8);
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
