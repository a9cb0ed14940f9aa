package org.jccl.platform;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A thread's native memory for errno and for the small structures of a system call, so that a call
 * allocates nothing. Every area is used by one call at a time and keeps nothing between calls.
 */
final class CallState {
    /** Room for what /proc says of a process in one line, which is about half as long. */
    static final int STATUS_BYTES = 512;

    private static final long SIZE_BYTES = 1024;
    private static final long TIMESPEC = 64;
    private static final long OPTION = 80;
    private static final long POLLFD = 96;
    private static final long SOCKADDR = 128;
    private static final long IOVECS = 256;
    private static final long MSGHDR = 320;
    private static final long TCP_INFO = 384;
    private static final long STATUS = 512;
    private static final ThreadLocal<CallState> CURRENT = ThreadLocal.withInitial(CallState::new);

    /** The whole area; errno is at offset 0. */
    final MemorySegment segment = Arena.ofAuto().allocate(SIZE_BYTES, 64);

    private final long address = segment.address();

    private CallState() {}

    static CallState current() {
        return CURRENT.get();
    }

    /** Errno of the last capturing call of this thread. */
    int errno() {
        return segment.get(ValueLayout.JAVA_INT, 0);
    }

    /** 16 bytes. */
    long timespec() {
        return address + TIMESPEC;
    }

    /** 16 bytes for a socket option and its length. */
    long option() {
        return address + OPTION;
    }

    /** 8 bytes. */
    long pollfd() {
        return address + POLLFD;
    }

    /** 128 bytes: a sockaddr_storage. */
    long sockaddr() {
        return address + SOCKADDR;
    }

    /** 32 bytes: two iovecs. */
    long iovecs() {
        return address + IOVECS;
    }

    /** 128 bytes. */
    long tcpInfo() {
        return address + TCP_INFO;
    }

    /** {@link #STATUS_BYTES} bytes. */
    long status() {
        return address + STATUS;
    }

    /** 56 bytes. */
    long msghdr() {
        return address + MSGHDR;
    }
}
