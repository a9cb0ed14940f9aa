package org.jccl.platform;

import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandle;

/** Calls on plain file descriptors; each returns its result or -errno. */
final class Descriptors {
    static final int O_RDWR = 2;
    static final int O_EXCL = 0200;
    static final int O_NONBLOCK = 04000;
    static final int O_CLOEXEC = 02000000;
    static final int O_TMPFILE = 020000000 | (Libc.X86 ? 0200000 : 040000);
    private static final int SEEK_END = 2;
    private static final MethodHandle CLOSE = Libc.capturing("close", Libc.INT, Libc.INT);
    private static final MethodHandle OPEN =
            Libc.capturingVariadic("open", 2, Libc.INT, Libc.LONG, Libc.INT, Libc.INT);
    private static final MethodHandle LSEEK =
            Libc.capturing("lseek", Libc.LONG, Libc.INT, Libc.LONG, Libc.INT);
    private static final MethodHandle FTRUNCATE =
            Libc.capturing("ftruncate", Libc.INT, Libc.INT, Libc.LONG);
    private static final MethodHandle FALLOCATE =
            Libc.capturing("fallocate", Libc.INT, Libc.INT, Libc.INT, Libc.LONG, Libc.LONG);
    private static final MethodHandle FCNTL =
            Libc.capturingVariadic("fcntl", 2, Libc.INT, Libc.INT, Libc.INT, Libc.INT);
    private static final MethodHandle READ =
            Libc.capturing("read", Libc.LONG, Libc.INT, Libc.LONG, Libc.LONG);
    private static final MethodHandle WRITE =
            Libc.capturing("write", Libc.LONG, Libc.INT, Libc.LONG, Libc.LONG);

    private Descriptors() {}

    static int close(int fd) {
        CallState state = CallState.current();
        try {
            int result = (int) CLOSE.invokeExact(state.segment, fd);
            return result < 0 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    static int open(String path, int flags, int mode) {
        CallState state = CallState.current();
        try (Arena arena = Arena.ofConfined()) {
            long name = arena.allocateFrom(path).address();
            int result = (int) OPEN.invokeExact(state.segment, name, flags, mode);
            return result < 0 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** The size of a file in bytes; moves the file position. */
    static long size(int fd) {
        CallState state = CallState.current();
        try {
            long result = (long) LSEEK.invokeExact(state.segment, fd, 0L, SEEK_END);
            return result < 0 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    static int truncate(int fd, long sizeBytes) {
        CallState state = CallState.current();
        try {
            int result = (int) FTRUNCATE.invokeExact(state.segment, fd, sizeBytes);
            return result < 0 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    static int allocate(int fd, long sizeBytes) {
        CallState state = CallState.current();
        try {
            int result;
            do {
                result = (int) FALLOCATE.invokeExact(state.segment, fd, 0, 0L, sizeBytes);
            } while (result < 0 && state.errno() == Errno.EINTR);
            return result < 0 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    static int control(int fd, int command, int argument) {
        CallState state = CallState.current();
        try {
            int result = (int) FCNTL.invokeExact(state.segment, fd, command, argument);
            return result < 0 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    static long read(int fd, long address, long bytes) {
        CallState state = CallState.current();
        try {
            long result = (long) READ.invokeExact(state.segment, fd, address, bytes);
            return result < 0 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    static long write(int fd, long address, long bytes) {
        CallState state = CallState.current();
        try {
            long result = (long) WRITE.invokeExact(state.segment, fd, address, bytes);
            return result < 0 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }
}
