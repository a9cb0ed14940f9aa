package org.jccl.harness;

import java.util.Map;
import java.util.TreeMap;

/** The stacks of this JVM's threads as text. */
final class Stacks {
    private static final String[] NOT_OURS = {
        "Reference Handler",
        "Finalizer",
        "Signal Dispatcher",
        "Common-Cleaner",
        "Notification Thread",
        "Attach Listener",
        "process reaper",
        "surefire",
        "ForkJoinPool"
    };

    private Stacks() {}

    /** Every thread of this JVM but the JVM's own and the one that asks. */
    static String all() {
        Map<String, Map.Entry<Thread, StackTraceElement[]>> byName = new TreeMap<>();
        for (Map.Entry<Thread, StackTraceElement[]> entry : Thread.getAllStackTraces().entrySet()) {
            Thread thread = entry.getKey();
            if (thread.equals(Thread.currentThread())) {
                continue;
            }
            byName.put(thread.getName() + " #" + thread.threadId(), entry);
        }
        StringBuilder text = new StringBuilder();
        byName.forEach((name, entry) -> append(text, name, entry.getKey(), entry.getValue()));
        return text.toString();
    }

    private static void append(
            StringBuilder text, String name, Thread thread, StackTraceElement[] stack) {
        for (String prefix : NOT_OURS) {
            if (name.startsWith(prefix)) {
                return;
            }
        }
        text.append("    \"").append(name).append("\" ").append(thread.getState()).append('\n');
        for (StackTraceElement element : stack) {
            text.append("        at ").append(element).append('\n');
        }
    }
}
