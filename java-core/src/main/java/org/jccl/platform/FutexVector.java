package org.jccl.platform;

import java.lang.foreign.Arena;

/** Sleeping on several 32-bit words at once, which may lie in memory shared between processes. */
public final class FutexVector implements AutoCloseable {
    private static final int MOST = 128;

    /** struct futex_waitv: an expected value of 64 bits, an address, flags, and a reserved word. */
    private static final int ENTRY_BYTES = 24;

    private static final int ADDRESS = 8;
    private static final int FLAGS = 16;

    /** Words of 32 bits that other processes may have mapped, too. */
    private static final int SHARED_32_BITS = 2;

    private static final int CLOCK_MONOTONIC = 1;

    /** Whether the system can do this; it refuses an empty vector for another reason if it can. */
    private static final boolean KNOWN =
            SystemCall.call(SystemCall.FUTEX_WAITV, 0, 0, 0, 0, CLOCK_MONOTONIC) == -Errno.EINVAL;

    private final int n;
    private final Arena arena = Arena.ofConfined();
    private final long entries;

    /**
     * Whether the system can sleep on {@code n} words at once: Linux 5.16 and newer can, on 128.
     */
    public static boolean serves(int n) {
        return KNOWN && n > 0 && n <= MOST;
    }

    /** A vector of {@code n} words, for the calling thread. */
    public FutexVector(int n) {
        this.n = n;
        entries = arena.allocate((long) n * ENTRY_BYTES, 8).address();
    }

    /** Sets the address of word {@code i}. */
    public void set(int i, long address) {
        Memory.putLong(entry(i) + ADDRESS, address);
        Memory.putInt(entry(i) + FLAGS, SHARED_32_BITS);
    }

    /** Notes what the words are; whether any that was not 0 at the last look is 0 now. */
    public boolean look() {
        boolean cleared = false;
        for (int i = 0; i < n; i++) {
            int value = Memory.getIntAcquire(Memory.getLong(entry(i) + ADDRESS));
            cleared |= value == 0 && Memory.getLong(entry(i)) != 0;
            Memory.putLong(entry(i), value & 0xFFFF_FFFFL);
        }
        return cleared;
    }

    /**
     * Sleeps until woken on any of the words, for at most {@code ns} nanoseconds, or not at all if
     * one of them is not what {@link #look} has found.
     *
     * @return whether it was woken
     */
    public boolean await(long ns) {
        long until = CallState.current().timespec(System.nanoTime() + ns);
        return SystemCall.plain(SystemCall.FUTEX_WAITV, entries, n, 0, until, CLOCK_MONOTONIC) >= 0;
    }

    private long entry(int i) {
        return entries + (long) i * ENTRY_BYTES;
    }

    @Override
    public void close() {
        arena.close();
    }
}
