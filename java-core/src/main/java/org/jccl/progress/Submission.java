package org.jccl.progress;

import org.jccl.call.Call;
import org.jccl.executor.Task;
import org.jccl.plan.Plan;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

/** Gets a call under way, in the thread that makes it, as far as that can go. */
public final class Submission {
    private static final long MS = 1_000_000;

    private Submission() {}

    /**
     * The task of a call that its caller waits for, if anybody does. It may have stood for an
     * earlier call, and may stand for another one once its stream waits for it.
     *
     * @param plan null for a send or receive
     */
    public static Task task(CommExecutor executor, Call call, @Nullable Plan plan) {
        return executor.engine.task(call).of(call, plan);
    }

    /**
     * Runs a call as far as possible, after those that are under way.
     *
     * @param plan null for a send or receive
     * @return null if it is complete, or its stream waits for it; else the task to wait for
     * @throws NcclException if the communicator has failed or this call fails at once
     */
    public static @Nullable Task run(CommExecutor executor, Call call, @Nullable Plan plan) {
        Task task = task(executor, call, plan);
        submit(executor, task);
        if (follow(executor, task)) {
            return null;
        }
        try {
            if (!executor.look(task)) {
                return task;
            }
        } catch (RuntimeException | Error e) {
            Parting.tear(executor);
            throw e;
        }
        NcclException.throwIfAny(task.failure());
        return null;
    }

    /**
     * Hands a task over, and leaves it to a stream thread if a device has begun it, or will wait
     * for the host: from then on a call of the device, also one of {@link #follow}, may not return
     * before it is over.
     *
     * @throws NcclException as of {@link CommExecutor#submit}
     */
    public static void submit(CommExecutor executor, Task task) {
        if (!executor.submit(task)) {
            return;
        }
        try {
            StreamAgent.attend(executor);
        } catch (RuntimeException | Error e) {
            // Nobody continues the task.
            executor.stopRequest = Unforeseen.TORN;
            executor.gate.leave();
            throw e;
        }
    }

    /**
     * Continues a submitted task, after the others of its group.
     *
     * @return whether its stream waits for it, so that its caller need not
     * @throws NcclException if the device refuses
     */
    public static boolean follow(CommExecutor executor, Task task) {
        if (!executor.usesStream(task)) {
            return false;
        }
        boolean inside = false;
        try {
            inside = !executor.engine.wentWithBatch(task);
            return !inside || executor.engine.follow(task);
        } catch (NcclException refused) {
            // The stream does not wait, so the operation must not go on.
            executor.requestStop(refused);
            throw refused;
        } catch (RuntimeException | Error e) {
            // As in Wait.await; besides, the stream may never come to the operation.
            executor.stopRequest = Unforeseen.TORN;
            throw e;
        } finally {
            if (inside) {
                executor.gate.leave();
                StreamAgent.attend(executor);
            }
        }
    }

    /**
     * Submits a task, lends the thread to it and leaves the rest to a stream thread.
     *
     * @param ms for how long the thread stays at most; with 0 it looks once, and stays a moment
     *     longer for a collective that runs alone and whose peers are likely to come soon
     * @return 0 if it is complete, else its ticket
     * @throws NcclException if it failed at once
     */
    public static long start(CommExecutor executor, Task task, int ms) {
        submit(executor, task);
        follow(executor, task);
        long ticket = accompany(executor, task, ms);
        if (ticket == 0) {
            NcclException.throwIfAny(task.failure());
        }
        return ticket;
    }

    /**
     * Submits a task, moves it as far as it goes without waiting, and leaves the rest to a stream
     * thread. If the device refuses, the task has failed.
     *
     * @throws NcclException as of {@link CommExecutor#submit}
     */
    public static void start(CommExecutor executor, Task task) {
        submit(executor, task);
        try {
            follow(executor, task);
        } catch (NcclException refused) {
            // The owner, who is asked to stop, ends the task with it.
        }
        try {
            if (!executor.look(task)) {
                StreamAgent.attend(executor);
            }
        } catch (RuntimeException | Error e) {
            // As in Wait.await; besides, nobody else may come to tell the peers.
            executor.stopRequest = Unforeseen.TORN;
            StreamAgent.attend(executor);
            throw e;
        }
    }

    /**
     * Lends the thread to a task that was submitted.
     *
     * @param ms for how long at most; with 0 it looks once
     * @return whether the task is over
     */
    public static boolean lend(CommExecutor executor, Task task, int ms) {
        if (ms > 0) {
            return Wait.of(executor, task).await(System.nanoTime() + ms * MS);
        }
        boolean left = executor.gate.attended() && isLeft(executor, task);
        return left ? task.over() : executor.look(task);
    }

    /**
     * As {@link #lend} with 0; besides, {@link Completions} counts the task's end, unless it is
     * over.
     */
    public static boolean watch(CommExecutor executor, Task task) {
        if (!task.over()) {
            Completions.watch(task);
        }
        return lend(executor, task, 0);
    }

    /**
     * Whether a collective is left to the thread that attends, even if it could end now. Beside
     * other work a rank's thread is interrupted in the middle of its next work by those for whom it
     * has not made way, and then its peers wait. If it sleeps once for each collective, all ranks
     * go on together, with a whole slice of their cores before them.
     */
    private static boolean isLeft(CommExecutor executor, Task task) {
        return executor.helpersHaveCores
                && !task.operation().pointToPoint()
                && executor.callersWait()
                && executor.lingering.crowd.isThere();
    }

    /** Stays with a task; its ticket for those who poll it, 0 if it is over. */
    private static long accompany(CommExecutor executor, Task task, int ms) {
        boolean waits = ms > 0;
        try {
            if (!waits) {
                executor.lingering.crowd.look();
            }
            boolean left = !waits && isLeft(executor, task);
            if (!left && (lend(executor, task, ms) || (!waits && linger(executor, task)))) {
                return 0;
            }
            long ticket = executor.tickets().give(task);
            StreamAgent.attend(executor);
            return ticket;
        } catch (RuntimeException | Error e) {
            // As in Wait.await; besides, nobody else may come to tell the peers.
            executor.stopRequest = Unforeseen.TORN;
            StreamAgent.attend(executor);
            throw e;
        }
    }

    private static boolean linger(CommExecutor executor, Task task) {
        boolean alone =
                executor.helpersHaveCores && executor.oneUnderWay() && executor.callersWait();
        if (!alone || executor.lingering.crowd.isThere() || !executor.lingering.pays(task)) {
            return false;
        }
        executor.gate.startWaiting();
        try {
            long untilNs = System.nanoTime() + Lingering.NS;
            while (!executor.look(task)) {
                if (System.nanoTime() - untilNs >= 0) {
                    return false;
                }
                Thread.onSpinWait();
            }
            return true;
        } finally {
            executor.lingering.learn(task.over());
            StreamAgent.stopWaiting(executor);
        }
    }
}
