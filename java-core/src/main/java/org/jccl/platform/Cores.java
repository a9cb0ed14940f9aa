package org.jccl.platform;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;
import java.util.List;

/** On which cores threads run. */
public final class Cores {
    /**
     * As many cores as a machine may have here. On a larger one threads are left where they are,
     * and nobody learns on which ones a process may run.
     */
    public static final int MOST = 1024;

    private static final int BYTES = MOST / Byte.SIZE;

    private Cores() {}

    /** The core that the calling thread runs on, or did a moment ago; -1 if that is unknown. */
    public static int current() {
        long at = CallState.current().core;
        return SystemCall.plain(SystemCall.GETCPU, at, 0, 0, 0, 0) == 0 ? Memory.getInt(at) : -1;
    }

    /**
     * The cores that this process may use. Where the system does not tell, as many as the JVM
     * counts, the first ones of the machine.
     */
    public static BitSet usable() {
        BitSet cores = new BitSet();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = arena.allocate(BYTES, Long.BYTES);
            if (isRead(set.address())) {
                cores = BitSet.valueOf(set.toArray(ValueLayout.JAVA_LONG));
            }
        }
        if (cores.isEmpty()) {
            cores.set(0, Math.min(MOST, Runtime.getRuntime().availableProcessors()));
        }
        return cores;
    }

    /**
     * Whether each of these users of cores can have one of its own, out of those that it may use.
     * This is a bipartite matching; users are placed one by one along augmenting paths (Kuhn, The
     * Hungarian Method, 1955), in at most users × users × cores steps.
     */
    public static boolean oneForEach(List<BitSet> users) {
        BitSet free = new BitSet();
        users.forEach(free::or);
        if (users.size() > free.cardinality()) {
            return false;
        }
        int[] userOf = new int[free.length()];
        for (int user = 0; user < users.size(); user++) {
            if (!isPlaced(user, users, free, userOf, new BitSet())) {
                return false;
            }
        }
        return true;
    }

    private static boolean isPlaced(
            int user, List<BitSet> users, BitSet free, int[] userOf, BitSet tried) {
        BitSet may = users.get(user);
        for (int core = may.nextSetBit(0); core >= 0; core = may.nextSetBit(core + 1)) {
            if (free.get(core)) {
                free.clear(core);
                userOf[core] = user;
                return true;
            }
        }
        for (int core = may.nextSetBit(0); core >= 0; core = may.nextSetBit(core + 1)) {
            if (!tried.get(core)) {
                tried.set(core);
                if (isPlaced(userOf[core], users, free, userOf, tried)) {
                    userOf[core] = user;
                    return true;
                }
            }
        }
        return false;
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
            if (!isRead(set)) {
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

    /** Reads the cores of the process's first thread, which has what its user has given it. */
    private static boolean isRead(long set) {
        long pid = ProcessHandle.current().pid();
        return SystemCall.call(SystemCall.SCHED_GETAFFINITY, pid, BYTES, set) > 0;
    }
}
