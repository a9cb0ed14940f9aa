package org.jccl.embed;

import org.jccl.abi.Guest;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** Runs the ranks of a job, each on a thread of its own, and stops those that are late. */
final class RankThreads {
    /** GraalPy takes a kilobyte or more of stack for each call of a Python function. */
    private static final long STACK_BYTES = 64L << 20;

    /** How long an interrupted program has for its end, and its peers to hear of it. */
    private static final long GRACE_MS = 3000;

    private static final int LOOKS = 20;
    private static final long LOOK_MS = 10;

    private final PythonJob job;
    private final Interpreters interpreters;
    private final List<Guest> guests;
    private final List<Thread> threads = new ArrayList<>();
    private final List<CompletableFuture<RankEnd>> ends = new ArrayList<>();

    /** Ranks that were told to stop; the thread that runs the job writes, the ranks read. */
    private final Set<Integer> stopped = ConcurrentHashMap.newKeySet();

    /** The rank that failed first, -1 while none has. */
    private final AtomicInteger firstFailed = new AtomicInteger(-1);

    RankThreads(PythonJob job, Interpreters interpreters) {
        this.job = job;
        this.interpreters = interpreters;
        this.guests = Guest.team(job.ranks());
    }

    /** Runs all ranks to their ends. */
    JobEnd run() throws InterruptedException {
        for (int rank = 0; rank < job.ranks(); rank++) {
            ends.add(new CompletableFuture<>());
            int number = rank;
            Runnable body = () -> ends.get(number).complete(end(number));
            threads.add(new Thread(null, body, "jccl-rank-" + rank, STACK_BYTES));
            threads.get(rank).setDaemon(true);
        }
        threads.forEach(Thread::start);
        try {
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
        return new JobEnd(ends.stream().map(CompletableFuture::join).toList(), firstFailed.get());
    }

    private RankEnd end(int rank) {
        Guest guest = guests.get(rank);
        guest.enter();
        RankEnd end;
        try {
            end = interpreters.run(rank, guest);
        } catch (Throwable t) {
            end = new RankEnd.Raised(t.getClass().getName(), String.valueOf(t.getMessage()), "");
        }
        if (end.status() != 0) {
            // Before its peers can know.
            firstFailed.compareAndSet(-1, rank);
        }
        try {
            // First, since communicators may use memory that the interpreter frees.
            guest.close();
        } finally {
            interpreters.free(rank);
        }
        return stopped.contains(rank) ? new RankEnd.Late(job.deadline()) : end;
    }

    private List<Integer> all() {
        return java.util.stream.IntStream.range(0, job.ranks()).boxed().toList();
    }

    private List<Integer> running() {
        return all().stream().filter(rank -> !ends.get(rank).isDone()).toList();
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
        return busy.isEmpty() ? running() : busy;
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

    /** Stops ranks: first by an exception, then, if that was not enough, for good. */
    private void stop(List<Integer> ranks) throws InterruptedException {
        if (!ranks.isEmpty()) {
            firstFailed.compareAndSet(-1, ranks.getFirst());
        }
        stopped.addAll(ranks);
        ranks.forEach(interpreters::interrupt);
        if (ended(ranks, GRACE_MS)) {
            return;
        }
        for (int rank : running()) {
            if (ranks.contains(rank)) {
                guests.get(rank).close();
                interpreters.kill(rank);
            }
        }
        if (!ended(ranks, GRACE_MS)) {
            Duration limit = job.deadline();
            ranks.forEach(rank -> ends.get(rank).complete(new RankEnd.Late(limit)));
        }
    }
}
