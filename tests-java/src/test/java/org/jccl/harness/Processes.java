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

    /** Keeps a process that {@link RankProcess#reusable}; the one unused longest has to go. */
    static void giveBack(RankProcess process) {
        synchronized (IDLE) {
            IDLE.addFirst(process);
            if (IDLE.size() > MAX_IDLE) {
                IDLE.removeLast().kill();
            }
        }
    }
}
