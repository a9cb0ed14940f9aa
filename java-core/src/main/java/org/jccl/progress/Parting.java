package org.jccl.progress;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.platform.Threads;
import org.jccl.transport.Links;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;

import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;

/** How a communicator is stopped, and how its rank leaves it. */
public final class Parting {
    /** How long a close waits for a device: two communicators are to be aborted within a second. */
    private static final long DEVICE_NS = 400_000_000;

    private Parting() {}

    /**
     * Ends everything with this failure and waits until that has taken effect, since the owner may
     * be copying into a caller's buffer. The wait is short: no owner waits longer than a quiet link
     * may take to finish a frame.
     */
    public static void stop(CommExecutor executor, NcclException why) {
        executor.requestStop(why);
        for (int round = 0; !stopped(executor); round++) {
            Threads.pause(round);
        }
    }

    /**
     * The same after an Error that has left an operation without anybody who waits for it: on
     * return or after another Error, which only leaves the rest to the next owner, nobody begins to
     * touch the caller's buffers.
     */
    public static void tear(CommExecutor executor) {
        executor.stopRequest = Unforeseen.TORN;
        stop(executor, Unforeseen.TORN);
    }

    private static boolean stopped(CommExecutor executor) {
        executor.tryProgress();
        return executor.failure() != null || executor.gate.closed();
    }

    /**
     * Stops a communicator whose user has interrupted a waiting thread; on return buffers are the
     * caller's.
     */
    public static void interrupt(CommExecutor executor) {
        NcclException why =
                ErrorKind.INTERRUPTED.says(
                        "rank %s was interrupted by its user; destroy the communicator",
                        executor.links.rank());
        stop(executor, why);
    }

    /**
     * Frees everything, once no thread is inside. The caller has made sure that nothing is under
     * way or wanted any more. On a device this may take until other communicators have ended their
     * operations: then another thread does it, so that a program can abort all of them in turn.
     *
     * @param goodbye what the other ranks are told
     * @param links takes over the links, which may still hold undelivered bytes, and closes them
     */
    public static void close(CommExecutor executor, NcclException goodbye, Consumer<Links> links) {
        if (!leave(executor, goodbye)) {
            return;
        }
        if (executor.callersWait()) {
            free(executor, links);
            return;
        }
        Freeing freeing = new Freeing(() -> free(executor, links));
        try {
            Threads.daemon("jccl-close", freeing).start();
        } catch (OutOfMemoryError noThread) {
            freeing.run();
        }
        if (!freeing.await(DEVICE_NS)) {
            Log.info(
                    Subsystem.DESTROY,
                    "%s is freed later: its device waits for another communicator",
                    executor.name);
        } else if (freeing.state() == Future.State.FAILED) {
            throw Unforeseen.of(freeing.exceptionNow(), "at the end").on(executor.name);
        }
    }

    private static void free(CommExecutor executor, Consumer<Links> links) {
        for (int round = 0; executor.gate.visitors() > 0; round++) {
            executor.gate.forEachSleptOn(executor.links::wakeSleepersOn);
            Threads.pause(round);
        }
        // One of them may have submitted a task while the gate was being closed.
        executor.drainLate();
        try {
            executor.engine.close();
        } finally {
            links.accept(executor.links);
        }
    }

    /**
     * Says goodbye, or why the communicator was stopped, and forbids everything else.
     *
     * @return false if that has been done before
     */
    public static boolean leave(CommExecutor executor, NcclException goodbye) {
        for (int round = 0; !executor.gate.tryOwn(); round++) {
            Threads.pause(round);
        }
        try {
            Links links = executor.links;
            if (executor.gate.closed()) {
                return false;
            }
            executor.failIfStopped();
            boolean well = executor.failure() == null;
            if (well) {
                Notice.leave(links, goodbye);
            }
            executor.forbid(goodbye);
            if (well) {
                Notice.flush(links, Notice.LEAVE_NS);
                Notice.send(links);
            } else {
                Notice.flush(links, Notice.FAREWELL_NS);
            }
            return true;
        } finally {
            executor.gate.release();
            executor.drainLate();
        }
    }

    /** Frees a communicator in another thread; its failure is logged if nobody waits any more. */
    static final class Freeing extends FutureTask<Boolean> {
        private volatile boolean late;

        Freeing(Runnable body) {
            super(body, true);
        }

        /** Waits until it is done, or for so long. */
        boolean await(long ns) {
            long untilNs = System.nanoTime() + ns;
            for (int round = 0; !isDone() && System.nanoTime() - untilNs < 0; round++) {
                Threads.pause(round);
            }
            late = true;
            return isDone();
        }

        @Override
        protected void done() {
            if (late && state() == State.FAILED) {
                Log.survived("a communicator was not freed: ", exceptionNow());
            }
        }
    }
}
