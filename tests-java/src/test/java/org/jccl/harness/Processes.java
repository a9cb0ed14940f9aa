package org.jccl.harness;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Processes that have run ranks of one cluster and wait for those of another with the same
 * environment and flags. A JVM costs a second to start; one that stays also meets what only long
 * lives have: compiled code, and whatever an earlier communicator left behind.
 */
final class Processes {
    private static final int MAX_IDLE = 24;

    /** Of all idle ones together: several test JVMs share a machine of 24 GiB. */
    private static final long MAX_IDLE_BYTES = 2L << 30;

    /** The idle ones, the one used last in front; guarded by itself. */
    private static final Deque<RankProcess> IDLE = new ArrayDeque<>();

    private Processes() {}

    /** An idle process that was entered and started in this way, else a new one. */
    static RankProcess lend(List<String> enter, List<String> flags, Map<String, String> environment)
            throws IOException {
        String key = enter + " " + flags + " " + environment;
        RankProcess idle = take(key);
        return idle != null ? idle : RankProcess.start(key, enter, flags, environment);
    }

    private static @Nullable RankProcess take(String key) {
        synchronized (IDLE) {
            for (Iterator<RankProcess> each = IDLE.iterator(); each.hasNext(); ) {
                RankProcess process = each.next();
                if (process.key().equals(key)) {
                    each.remove();
                    return process.reusable() ? process : take(key);
                }
            }
            return null;
        }
    }

    /** Keeps a process that {@link RankProcess#reusable}; those unused longest have to go. */
    static void giveBack(RankProcess process) {
        synchronized (IDLE) {
            IDLE.addFirst(process);
            long bytes = 0;
            int kept = 0;
            for (RankProcess each : IDLE) {
                bytes += each.residentBytes();
                kept += kept < MAX_IDLE && bytes <= MAX_IDLE_BYTES ? 1 : 0;
            }
            while (IDLE.size() > kept) {
                IDLE.removeLast().kill();
            }
        }
    }
}
