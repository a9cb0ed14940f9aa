package org.jccl.machine;

import org.jspecify.annotations.Nullable;

import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * A thread of a simulated process: a virtual thread that runs, on the thread of the test, from one
 * wait to the next.
 */
final class Actor {
    /** Unwinds the threads of a process that has been killed. */
    @SuppressWarnings("serial")
    static final class Killed extends Error {
        Killed() {
            super("killed", null, false, false);
        }
    }

    private static final int LOCK_LIMIT_S = 60;
    private static final Method NEW_VIRTUAL_THREAD = newVirtualThread();

    /** The longest time until a thread that may go on does so. */
    private static final long WAKE_NS = 20 * Machine.US;

    /** How many waits in a row may end at once; more of them are a loop without end. */
    private static final int MOST_UNSTOPPED = 10_000;

    private final Machine machine;
    private final SimulatedProcess process;
    private final int number;
    private final String name;
    private final Thread thread;

    /**
     * How the thread goes on. Added by itself, and by Java's own threads where they held a lock.
     */
    private final BlockingQueue<Runnable> continuations = new LinkedBlockingQueue<>();

    private @Nullable BooleanSupplier ready;
    private @Nullable Throwable failure;
    private boolean waiting;

    /** Whether the thread is parked by the machine, and not by a lock inside of Java. */
    private boolean parked;

    private boolean permit;
    private boolean ended;
    private int unstopped;
    private long wait;

    Actor(SimulatedProcess process, int number, String name, Runnable body) {
        this.machine = process.machine();
        this.process = process;
        this.number = number;
        this.name = name;
        Executor scheduler = continuations::add;
        Runnable guarded =
                () -> {
                    try {
                        body.run();
                    } catch (Killed killed) {
                        // Its process is dead.
                    } catch (Throwable thrown) {
                        failure = thrown;
                    } finally {
                        ended = true;
                    }
                };
        try {
            thread = (Thread) NEW_VIRTUAL_THREAD.invoke(null, scheduler, name, 0, guarded);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        thread.start();
        machine.after(machine.upTo(WAKE_NS), () -> resume(0));
    }

    SimulatedProcess process() {
        return process;
    }

    int number() {
        return number;
    }

    String name() {
        return name;
    }

    boolean ended() {
        return ended;
    }

    /** The exception that it threw in the end, or null. */
    @Nullable Throwable failure() {
        return failure;
    }

    /** The code that it waits in. */
    StackTraceElement[] stack() {
        return thread.getStackTrace();
    }

    /** Runs the thread until it waits or ends; on the thread of the test. */
    void go() {
        LockSupport.unpark(thread);
        Runnable next = continuations.poll();
        while (next != null) {
            next.run();
            next = continuations.poll();
            if (next == null && !parked && !ended) {
                next = unlocked();
            }
        }
    }

    /** The thread goes on when the thread outside of the machine that holds its lock lets go. */
    private Runnable unlocked() {
        try {
            Runnable next = continuations.poll(LOCK_LIMIT_S, TimeUnit.SECONDS);
            if (next == null) {
                throw new IllegalStateException(name + " is blocked in " + List.of(stack()));
            }
            return next;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * The calling thread waits until the condition holds or the time has come.
     *
     * @param condition null for time alone
     */
    void await(@Nullable BooleanSupplier condition, long untilNs) {
        process.ensureAlive();
        if (condition != null && condition.getAsBoolean()) {
            unstopped++;
            if (unstopped < MOST_UNSTOPPED) {
                return;
            }
            machine.complain(name + " looks again and again without a wait", new Error());
        }
        unstopped = 0;
        ready = condition;
        waiting = true;
        wait++;
        long mine = wait;
        if (untilNs != Machine.NEVER) {
            machine.at(untilNs, () -> wake(mine));
        }
        parked = true;
        LockSupport.park();
        parked = false;
        ready = null;
        process.ensureAlive();
    }

    /** Something of its process has changed. */
    void look() {
        BooleanSupplier condition = ready;
        if (waiting && condition != null && condition.getAsBoolean()) {
            wake(wait);
        }
    }

    /** For a thread of a process that has died: it unwinds. */
    void unwind() {
        waiting = false;
        while (!ended) {
            machine.run(this);
        }
    }

    private void wake(long which) {
        if (waiting && which == wait) {
            waiting = false;
            machine.after(machine.upTo(WAKE_NS), () -> resume(which));
        }
    }

    private void resume(long which) {
        if (process.dead() || which != wait) {
            return;
        }
        long stopped = process.stoppedUntilNs();
        if (stopped > machine.nowNs()) {
            machine.at(stopped, () -> resume(which));
        } else {
            machine.run(this);
        }
    }

    /** The next {@link #park} returns at once. */
    void unpark() {
        permit = true;
        look();
    }

    void park(long untilNs) {
        await(() -> permit, untilNs);
        permit = false;
    }

    private static Method newVirtualThread() {
        try {
            for (Method method : Class.forName("java.lang.ThreadBuilders").getDeclaredMethods()) {
                if (method.getName().equals("newVirtualThread")) {
                    method.setAccessible(true);
                    return method;
                }
            }
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
        throw new IllegalStateException("this Java has other virtual threads");
    }
}
