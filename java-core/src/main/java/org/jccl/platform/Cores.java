package org.jccl.platform;

import java.lang.foreign.Arena;

/** On which cores threads run. */
public final class Cores {
    /**
     * As many cores as a machine may have here; on a larger one threads are left where they are.
     */
    private static final int MOST = 1024;

    private static final int BYTES = MOST / Byte.SIZE;

    private Cores() {}

    /** The core that the calling thread runs on, or did a moment ago; -1 if that is unknown. */
    public static int current() {
        long at = CallState.current().core;
        return SystemCall.plain(SystemCall.GETCPU, at, 0, 0, 0, 0) == 0 ? Memory.getInt(at) : -1;
    }

    /** Keeps the calling thread on a core, if the process's first thread may use it. */
    public static void keepTo(int core) {
        restrict(core, true);
    }

    /** Keeps the calling thread off a core, if the process's first thread may use others. */
    public static void keepOff(int core) {
        restrict(core, false);
    }

    private static void restrict(int core, boolean on) {
        if (core < 0 || core >= MOST) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            long set = arena.allocate(BYTES, Long.BYTES).address();
            // The process's first thread has what its user has given it.
            long pid = ProcessHandle.current().pid();
            if (SystemCall.call(SystemCall.SCHED_GETAFFINITY, pid, BYTES, set) <= 0) {
                return;
            }
            long word = set + (long) core / Long.SIZE * Long.BYTES;
            long bit = Memory.getLong(word) & 1L << core % Long.SIZE;
            if (on) {
                Memory.fill(set, BYTES, (byte) 0);
                Memory.putLong(word, bit);
            } else {
                Memory.putLong(word, Memory.getLong(word) & ~bit);
            }
            // An empty set is refused, and changes nothing.
            SystemCall.call(SystemCall.SCHED_SETAFFINITY, 0, BYTES, set);
        }
    }
}
