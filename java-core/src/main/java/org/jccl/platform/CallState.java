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

    private static final long SECOND_NS = 1_000_000_000L;
    private static final ThreadLocal<CallState> CURRENT = ThreadLocal.withInitial(CallState::new);

    /** The whole area; errno is at offset 0. */
    final MemorySegment segment = Arena.ofAuto().allocate(1024, 64);

    private final long address = segment.address();

    /** 16 bytes. */
    private final long timespec = address + 64;

    /** 16 bytes for a socket option and its length. */
    final long option = address + 80;

    /** 8 bytes. */
    final long pollfd = address + 96;

    /** 4 bytes: the number of a core. */
    final long core = address + 104;

    /** 128 bytes: a sockaddr_storage. */
    final long sockaddr = address + 128;

    /** 32 bytes: two iovecs. */
    final long iovecs = address + 256;

    /** 56 bytes. The list of ranges and their number are written; the others stay 0. */
    final long msghdr = address + 320;

    /** 128 bytes. */
    final long tcpInfo = address + 384;

    /** {@link #STATUS_BYTES} bytes. */
    final long status = address + 512;

    private CallState() {}

    static CallState current() {
        return CURRENT.get();
    }

    /** Fills the timespec; its address. */
    long timespec(long ns) {
        Memory.putLong(timespec, ns / SECOND_NS);
        Memory.putLong(timespec + 8, ns % SECOND_NS);
        return timespec;
    }

    /** Errno of the last capturing call of this thread. */
    int errno() {
        return segment.get(ValueLayout.JAVA_INT, 0);
    }
}
