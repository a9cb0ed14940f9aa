package org.jccl.platform;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Calls on plain file descriptors; each returns its result or -errno. */
final class Descriptors {
    static final int O_RDWR = 2;
    static final int O_EXCL = 0200;
    static final int O_NONBLOCK = 04000;
    static final int O_CLOEXEC = 02000000;
    static final int O_TMPFILE = 020200000;
    private static final int AT_FDCWD = -100;
    private static final int SEEK_END = 2;
    private static final int STATFS_BYTES = 120;
    private static final int BLOCK_BYTES = 8;
    private static final int BLOCKS = 16;
    private static final int BLOCKS_FREE = 32;

    /** What a file system holds, and how much of that is free for this user. */
    record Room(long bytes, long freeBytes) {}

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

    /** The size of a file in bytes; moves the file position. */
    static long size(int fd) {
        return SystemCall.call(SystemCall.LSEEK, fd, 0, SEEK_END);
    }

    static int truncate(int fd, long sizeBytes) {
        return (int) SystemCall.call(SystemCall.FTRUNCATE, fd, sizeBytes);
    }

    /** How much room the file system of a file has; nothing where the system does not say. */
    static Room room(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment statfs = arena.allocate(STATFS_BYTES, 8);
            SystemCall.call(SystemCall.FSTATFS, fd, statfs.address());
            long block = statfs.get(ValueLayout.JAVA_LONG, BLOCK_BYTES);
            return new Room(
                    block * statfs.get(ValueLayout.JAVA_LONG, BLOCKS),
                    block * statfs.get(ValueLayout.JAVA_LONG, BLOCKS_FREE));
        }
    }

    static int control(int fd, int command, int argument) {
        return (int) SystemCall.call(SystemCall.FCNTL, fd, command, argument);
    }

    static long read(int fd, long address, long bytes) {
        return SystemCall.call(SystemCall.READ, fd, address, bytes);
    }

    static long write(int fd, long address, long bytes) {
        return SystemCall.call(SystemCall.WRITE, fd, address, bytes);
    }
}
