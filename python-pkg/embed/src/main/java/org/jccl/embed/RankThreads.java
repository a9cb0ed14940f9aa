package org.jccl.embed;

import org.jccl.abi.Guest;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/** Runs the ranks of a job, each on a thread of its own, and stops those that are late. */
final class RankThreads {
    /** GraalPy takes a kilobyte or more of stack for each call of a Python function. */
    private static final long STACK_BYTES = 64L << 20;

    /** How long an interrupted program has for its end, and its peers to hear of it. */
    private static final long GRACE_MS = 3000;

    private static final int LOOKS = 20;
    private static final long LOOK_MS = 10;

    /** The end of a thread that had no memory to say how it ended. */
    private static final RankEnd BROKEN =
            new RankEnd.Raised("java.lang.Error", "the thread of the rank broke", "");

    private final PythonJob job;
    private final Interpreters interpreters;
    private final List<Guest> guests;
    private final List<Thread> threads = new ArrayList<>();
    private final List<CompletableFuture<RankEnd>> ends = new ArrayList<>();

    /** Ranks that were told to stop; the thread that runs the job writes, the ranks read. */
    private final Set<Integer> stopped = ConcurrentHashMap.newKeySet();

    /** Ranks in the order in which they failed or were stopped; all threads write. */
    private final Queue<Integer> failed = new ConcurrentLinkedQueue<>();

    /** Whether a rank goes on although it was stopped; the thread that runs the job uses it. */
    private boolean gaveUp;

    RankThreads(PythonJob job, Interpreters interpreters) {
        this.job = job;
        this.interpreters = interpreters;
        this.guests = Guest.team(job.ranks());
    }

    /**
     * Runs all ranks to their ends.
     *
     * @throws IllegalStateException if a rank's thread cannot be started, after the others have
     *     been stopped
     */
    JobEnd run() throws InterruptedException {
        for (int rank = 0; rank < job.ranks(); rank++) {
            ends.add(new CompletableFuture<>());
            int number = rank;
            threads.add(new Thread(null, () -> body(number), "jccl-rank-" + rank, STACK_BYTES));
            threads.get(rank).setDaemon(true);
        }
        try {
            start();
            long limit = job.deadline().toMillis();
            if (!ended(all(), limit == 0 ? Long.MAX_VALUE : limit)) {
                // Those that wait for others may only wait for one that is late.
                stop(culprits());
                stop(ended(all(), GRACE_MS) ? List.of() : running());
            }
        } catch (InterruptedException e) {
            stop(running());
            throw e;
        }
        return JobEnd.of(ends.stream().map(CompletableFuture::join).toList(), List.copyOf(failed));
    }

    /** Whether a rank of the job goes on, since nothing ends it. */
    boolean gaveUp() {
        return gaveUp;
    }

    private void start() throws InterruptedException {
        for (int rank = 0; rank < job.ranks(); rank++) {
            try {
                threads.get(rank).start();
            } catch (Throwable t) {
                ends.subList(rank, job.ranks()).forEach(end -> end.complete(BROKEN));
                guests.get(rank).close();
                stop(running());
                throw new IllegalStateException(
                        "the thread of rank " + rank + " cannot be started: " + t.getMessage(), t);
            }
        }
    }

    /** What the thread of a rank does; the rank has an end afterwards, whatever happens. */
    private void body(int rank) {
        RankEnd end = BROKEN;
        try {
            end = end(rank);
        } finally {
            ends.get(rank).complete(end);
        }
    }

    private RankEnd end(int rank) {
        Guest guest = guests.get(rank);
        RankEnd end;
        try {
            guest.enter();
            end = interpreters.run(rank, guest);
        } catch (Throwable t) {
            end = raised(t);
        }
        if (end.status() != 0) {
            // Before its peers can know.
            failed.add(rank);
        }
        try {
            // First, since communicators may use memory that the interpreter frees.
            guest.close();
        } catch (Throwable t) {
            end = worse(rank, end, t);
        }
        try {
            if (interpreters.free(rank)) {
                guest.freeMemory();
            }
        } catch (Throwable t) {
            end = worse(rank, end, t);
        }
        return stopped.contains(rank) ? new RankEnd.Late(job.deadline()) : end;
    }

    /** The end of a rank whose thread has failed after its program ended like this. */
    private RankEnd worse(int rank, RankEnd end, Throwable t) {
        if (end.status() != 0) {
            return end;
        }
        failed.add(rank);
        return raised(t);
    }

    private static RankEnd raised(Throwable t) {
        StringWriter stack = new StringWriter();
        t.printStackTrace(new PrintWriter(stack, true));
        return new RankEnd.Raised(
                t.getClass().getName(), String.valueOf(t.getMessage()), stack.toString());
    }

    private List<Integer> all() {
        return IntStream.range(0, job.ranks()).boxed().toList();
    }

    private List<Integer> running() {
        return running(all());
    }

    private List<Integer> running(List<Integer> ranks) {
        return ranks.stream().filter(rank -> !ends.get(rank).isDone()).toList();
    }

    private boolean ended(List<Integer> ranks, long ms) throws InterruptedException {
        CompletableFuture<?>[] awaited =
                ranks.stream().map(ends::get).toArray(CompletableFuture[]::new);
        try {
            CompletableFuture.allOf(awaited).get(ms, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException late) {
            return false;
        } catch (ExecutionException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** The ranks that run but do not wait for others; all that run if every one waits. */
    private List<Integer> culprits() throws InterruptedException {
        List<Integer> busy = new ArrayList<>(running());
        for (int look = 0; look < LOOKS && !busy.isEmpty(); look++) {
            busy.removeIf(this::waits);
            Thread.sleep(LOOK_MS);
        }
        List<Integer> found = running(busy);
        return found.isEmpty() ? running() : found;
    }

    /** Whether the rank's thread is in a call of the library. */
    private boolean waits(int rank) {
        for (StackTraceElement frame : threads.get(rank).getStackTrace()) {
            if (frame.getClassName().startsWith("org.jccl.abi.")) {
                return true;
            }
        }
        return false;
    }

    /** Stops those that run: first by an exception, then, if that was not enough, for good. */
    private void stop(List<Integer> ranks) throws InterruptedException {
        List<Integer> late = running(ranks);
        failed.addAll(late);
        stopped.addAll(late);
        aside(late, interpreters::interrupt);
        if (ended(late, GRACE_MS)) {
            return;
        }
        aside(
                running(late),
                rank -> {
                    guests.get(rank).close();
                    interpreters.kill(rank);
                });
        if (!ended(late, GRACE_MS)) {
            gaveUp = true;
            Duration limit = job.deadline();
            late.forEach(rank -> ends.get(rank).complete(new RankEnd.Late(limit)));
        }
    }

    /** Does it for each rank on a thread of its own, which may take for ever. */
    private static void aside(List<Integer> ranks, IntConsumer what) {
        for (int rank : ranks) {
            Thread thread = new Thread(() -> what.accept(rank), "jccl-stop-" + rank);
            thread.setDaemon(true);
            // The end of the rank is awaited, whatever this says.
            thread.setUncaughtExceptionHandler((failing, why) -> {});
            try {
                thread.start();
            } catch (OutOfMemoryError noThread) {
                what.accept(rank);
            }
        }
    }
}
