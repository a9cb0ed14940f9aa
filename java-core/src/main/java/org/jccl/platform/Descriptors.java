package org.jccl.platform;

import java.lang.foreign.Arena;

/** Opens and closes plain descriptors; each call returns its result or -errno. */
final class Descriptors {
    static final int O_RDWR = 2;
    static final int O_EXCL = 0200;
    static final int O_CLOEXEC = 02000000;
    static final int O_TMPFILE = 020200000;

    /** O_NONBLOCK and O_CLOEXEC, or the flags of other calls that mean the same. */
    static final int NONBLOCK_CLOEXEC = 04000 | O_CLOEXEC;

    private static final int AT_FDCWD = -100;

    private Descriptors() {}

    static int close(int fd) {
        return (int) SystemCall.call(SystemCall.CLOSE, fd);
    }

    static int open(String path, int flags, int mode) {
        try (Arena arena = Arena.ofConfined()) {
            long name = arena.allocateFrom(path).address();
            return (int) SystemCall.call(SystemCall.OPENAT, AT_FDCWD, name, flags, mode);
        }
    }
}
