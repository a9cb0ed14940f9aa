package org.jccl.harness;

import java.util.Map;
import java.util.TreeMap;

/** The stacks of this JVM's threads as text. */
final class Stacks {
    private static final String[] NOT_OURS = {
        "Reference Handler", "Finalizer", "Signal Dispatcher", "Common-Cleaner",
        "Notification Thread", "Attach Listener", "process reaper", "surefire", "ForkJoinPool"
    };

    private Stacks() {}

    /** Every thread of this JVM but the JVM's own. */
    static String all() {
        Map<String, Thread> byName = new TreeMap<>();
        Map<Thread, StackTraceElement[]> stacks = Thread.getAllStackTraces();
        stacks.keySet().forEach(t -> byName.put(t.getName() + " #" + t.threadId(), t));
        StringBuilder text = new StringBuilder();
        byName.forEach((name, thread) -> append(text, name, thread, stacks.get(thread)));
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
