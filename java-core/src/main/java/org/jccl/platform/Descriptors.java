package org.jccl.platform;

import java.lang.foreign.Arena;

/** Opens and closes plain descriptors; each call returns its result or -errno. */
final class Descriptors {
    static final int O_RDWR = 2;
    static final int O_EXCL = 0200;
    static final int O_TMPFILE = 020200000;

    /** These two are flags of other calls as well. */
    static final int NONBLOCK = 04000;

    static final int CLOEXEC = 02000000;
    private static final int AT_FDCWD = -100;

    private Descriptors() {}

    static int close(int fd) {
        return (int) SystemCall.call(SystemCall.CLOSE, fd);
    }

    /** Opens a file, close-on-exec; if it is a new one, it is this user's alone. */
    static int open(String path, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            long name = arena.allocateFrom(path).address();
            return (int) SystemCall.call(SystemCall.OPENAT, AT_FDCWD, name, flags | CLOEXEC, 0600);
        }
    }
}
