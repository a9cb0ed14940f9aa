package org.jccl.machine;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.BooleanSupplier;

/** The simulated computer, or several: its time, its events in order, and who runs. */
final class Machine {
    static final long NEVER = Long.MAX_VALUE;
    static final long US = 1_000;
    static final long MS = 1_000_000;
    static final long SECOND = 1_000_000_000;

    /** Time that a look at the clock takes, so that a loop that waits for the clock ends. */
    private static final long LOOK_NS = 100;

    /** The machine that is running; there is one at a time. */
    private static @Nullable Machine current;

    private record Event(long atNs, long number, Runnable action) {}

    final Random random;
    final Network network = new Network(this);
    private final List<SimulatedProcess> processes = new ArrayList<>();
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(
                    Comparator.comparingLong(Event::atNs).thenComparingLong(Event::number));
    private final List<String> complaints = new ArrayList<>();
    private long nowNs = SECOND;
    private long made;
    private long trace;
    private long steps;
    private @Nullable Actor running;

    Machine(long seed) {
        random = new Random(seed);
        current = this;
    }

    static Machine current() {
        Machine machine = current;
        if (machine == null) {
            throw new IllegalStateException("no machine is running");
        }
        return machine;
    }

    /** The time of the machine; every look takes some of it. */
    long look() {
        nowNs += LOOK_NS;
        return nowNs;
    }

    long nowNs() {
        return nowNs;
    }

    /** A number that two runs share if they did the same at the same times. */
    long trace() {
        return trace;
    }

    /** Turns that threads have had. */
    long steps() {
        return steps;
    }

    /** The thread that runs, or null while the test itself does. */
    @Nullable Actor running() {
        return running;
    }

    Actor runningActor() {
        Actor actor = running;
        if (actor == null) {
            throw new IllegalStateException("a thread that is not simulated waits");
        }
        return actor;
    }

    List<SimulatedProcess> processes() {
        return processes;
    }

    void add(SimulatedProcess process) {
        processes.add(process);
    }

    @Nullable SimulatedProcess process(long pid) {
        return processes.stream().filter(each -> each.pid() == pid).findFirst().orElse(null);
    }

    /** Does something at a time that is not before now. */
    void at(long atNs, Runnable action) {
        events.add(new Event(Math.max(atNs, nowNs), made++, action));
    }

    void after(long ns, Runnable action) {
        at(nowNs + ns, action);
    }

    /** From 1 to that many nanoseconds. */
    long upTo(long ns) {
        return 1 + (long) (random.nextDouble() * ns);
    }

    /** A thread of the process goes on. */
    void run(Actor actor) {
        steps++;
        trace = (trace * 31 + actor.number()) * 31 + nowNs;
        running = actor;
        try {
            actor.go();
        } finally {
            running = null;
        }
    }

    /** Something has happened that never should. */
    void complain(String what, Throwable failure) {
        StackTraceElement[] stack = failure.getStackTrace();
        complaints.add(what + (stack.length == 0 ? "" : " at " + stack[0]));
    }

    List<String> complaints() {
        return complaints;
    }

    /** Notes something in the trace. */
    void note(String text) {
        trace = trace * 31 + text.hashCode();
    }

    /**
     * Lets time pass.
     *
     * @return whether the condition came true within that time
     */
    boolean runUntil(BooleanSupplier condition, long limitNs) {
        long end = nowNs + limitNs;
        while (!condition.getAsBoolean()) {
            Event next = events.peek();
            if (next == null || next.atNs() > end) {
                nowNs = Math.max(nowNs, end);
                return condition.getAsBoolean();
            }
            events.remove();
            nowNs = Math.max(nowNs, next.atNs());
            next.action().run();
        }
        return true;
    }
}
