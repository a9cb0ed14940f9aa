package org.jccl.comm;

import org.jccl.log.Log;
import org.jccl.platform.Threads;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;

/**
 * Thread {@code jccl-job-k}: runs background jobs, any number of them on at most four threads, each
 * made when there is more work than threads. A job that cannot go on goes to the end of the queue.
 * Until then it belongs to the thread that took it, also while that thread waits for its activity:
 * any other thread may end a job that is in the queue, and free its memory.
 */
final class JobAgent implements Runnable {
    private static final int MAX_AGENTS = 4;
    private static final int SHORT_WAIT_MS = 1;
    private static final int LONG_WAIT_MS = 10;
    private static final long IDLE_MS = 5_000;
    private static final long MS_NS = 1_000_000;

    /** Guarded by itself, as the two below; threads without work wait on it. */
    private static final ArrayDeque<Job> QUEUE = new ArrayDeque<>();

    private static int agents;
    private static int idle;

    private JobAgent() {}

    /**
     * Runs the job in the background.
     *
     * @throws Error if there is no thread and the system gives none; the job is the caller's then
     */
    static void start(Job job) {
        synchronized (QUEUE) {
            QUEUE.add(job);
            if (idle > 0) {
                QUEUE.notifyAll();
            } else if (agents < MAX_AGENTS) {
                startAgent(job);
            }
        }
    }

    /**
     * Under QUEUE's lock. If the system gives no thread, those that run do the job; without any it
     * is refused.
     */
    private static void startAgent(Job job) {
        try {
            Thread thread = Threads.daemon("jccl-job-" + agents, new JobAgent());
            thread.start();
            agents++;
        } catch (Throwable noThread) {
            if (agents == 0) {
                QUEUE.remove(job);
                throw noThread;
            }
        }
    }

    /**
     * One step of a job, with its end if it ended.
     *
     * @return whether the job is over
     */
    static boolean step(Job job) {
        NcclException why = null;
        try {
            if (!job.advance()) {
                return false;
            }
        } catch (NcclException e) {
            why = e;
        } catch (RuntimeException | Error e) {
            why = Unforeseen.of(e, "in a job");
        }
        end(job, why);
        return true;
    }

    /** A job that cannot even end must not end the thread, which other jobs need. */
    private static void end(Job job, @Nullable NcclException why) {
        try {
            job.ended(why);
        } catch (RuntimeException | Error failure) {
            Log.survived("a job did not end well: ", failure);
        }
    }

    @Override
    public void run() {
        int fruitless = 0;
        for (Job job = take(); job != null; job = take()) {
            if (step(job)) {
                fruitless = 0;
                continue;
            }
            fruitless++;
            int others = queued();
            if (fruitless > others) {
                await(job, others == 0 ? LONG_WAIT_MS : SHORT_WAIT_MS);
                fruitless = 0;
            }
            putBack(job);
        }
    }

    /** A wait that fails, for want of memory perhaps, costs its time and no more. */
    private static void await(Job job, int maxMs) {
        try {
            job.awaitActivity(maxMs);
        } catch (RuntimeException | Error failure) {
            Log.survived("jccl-job goes on after: ", failure);
            LockSupport.parkNanos(maxMs * MS_NS);
        }
    }

    private static int queued() {
        synchronized (QUEUE) {
            return QUEUE.size();
        }
    }

    private static void putBack(Job job) {
        synchronized (QUEUE) {
            try {
                QUEUE.add(job);
            } catch (OutOfMemoryError e) {
                end(job, Unforeseen.of(e, "in a job"));
            }
        }
    }

    private static @Nullable Job take() {
        synchronized (QUEUE) {
            idle++;
            awaitArrival();
            idle--;
            Job job = QUEUE.poll();
            if (job == null) {
                agents--;
            }
            return job;
        }
    }

    private static void awaitArrival() {
        long end = System.nanoTime() + IDLE_MS * MS_NS;
        try {
            for (long ms = IDLE_MS;
                    QUEUE.isEmpty() && ms > 0;
                    ms = (end - System.nanoTime()) / MS_NS) {
                QUEUE.wait(ms);
            }
        } catch (InterruptedException | RuntimeException | Error e) {
            // It cannot wait, for want of memory perhaps; it still does the jobs that are there.
        }
    }
}
