package org.jccl.machine;

import org.jspecify.annotations.Nullable;

import java.lang.ref.Cleaner;
import java.util.Random;

/** The methods that rewritten classes call instead of the system: {@link Rewriting}. */
public final class Calls {
    /** The content of secrets decides nothing, so that these need no seed of their own. */
    private static final Random SECRETS = new Random(1);

    private Calls() {}

    private static Actor actor() {
        Actor actor = Machine.current().runningActor();
        actor.process().ensureAlive();
        return actor;
    }

    // ---- time ----

    /** {@link System#nanoTime}. */
    public static long nanoTime() {
        return Machine.current().look();
    }

    /** A wait for the time alone, or an unpark. */
    public static void parkNanos(long ns) {
        actor().park(Machine.current().nowNs() + ns);
    }

    /** The same. */
    public static void parkNanos(Object blocker, long ns) {
        parkNanos(ns);
    }

    /** A wait for an unpark. */
    public static void park(Object blocker) {
        actor().park(Machine.NEVER);
    }

    /** Ends the wait of a thread. */
    public static void unpark(Thread thread) {
        Actor actor = actor().process().actor(thread);
        if (actor != null) {
            actor.unpark();
        }
    }

    // ---- monitors and threads ----

    /** {@link Object#wait(long)}. */
    @SuppressWarnings("NamedLikeContextualKeyword")
    public static void wait(Object monitor, long ms) {
        actor().process().await(monitor, ms * Machine.MS);
    }

    /** {@link Object#notifyAll}. */
    public static void notifyAll(Object monitor) {
        actor().process().signal(monitor);
    }

    /** Waits for a condition; returns what is left of the time. */
    public static long awaitNanos(Object condition, long ns) {
        long end = Machine.current().nowNs() + ns;
        actor().process().await(condition, ns);
        return end - Machine.current().nowNs();
    }

    /** Signals a condition; wakes all waiting threads, which look again. */
    public static void signal(Object condition) {
        actor().process().signal(condition);
    }

    /** Signals a condition to all. */
    public static void signalAll(Object condition) {
        actor().process().signal(condition);
    }

    /** The thread runs as a simulated one. */
    public static void start(Thread thread) {
        actor().process().start(thread);
    }

    /** Nothing is collected, since that happens at any time and on a thread of its own. */
    public static Cleaner.Cleanable register(Object cleaner, Object collected, Runnable action) {
        return action::run;
    }

    // ---- the process ----

    /** {@link ProcessHandle#pid}. */
    public static long pid(Object self) {
        return actor().process().pid();
    }

    /** A variable of the environment. */
    public static @Nullable String variable(String name) {
        Actor running = Machine.current().running();
        return running == null ? null : running.process().variable(name);
    }

    /** A file of /proc. */
    public static String file(String path, String otherwise) {
        return actor().process().file(path, otherwise);
    }

    /** Secret bytes. */
    public static void nextBytes(Object random, byte[] bytes) {
        SECRETS.nextBytes(bytes);
    }

    /** A secret number. */
    public static long nextLong(Object random) {
        return SECRETS.nextLong();
    }

    /** A thread of JCCL's has met an exception that nobody expected. */
    public static void survived(String what, Throwable failure) {
        Machine.current().complain(actor().name() + ": " + what + failure, failure);
    }

    // ---- system calls ----

    /** The result, or -errno. */
    public static long call(long number, long a, long b, long c, long d, long e, long f) {
        Actor running = Machine.current().running();
        if (running == null) {
            return -38;
        }
        running.process().ensureAlive();
        return running.process().kernel().call(number, a, b, c, d, e, f);
    }

    /** The same with fewer arguments; answers the result, or -1. */
    public static long plain(long number, long a, long b, long c, long d, long e) {
        return Math.max(-1, call(number, a, b, c, d, e, 0));
    }
}
