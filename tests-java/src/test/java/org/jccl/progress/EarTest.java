package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.jccl.comm.Comm;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.platform.FutexVector;
import org.jccl.platform.Memory;
import org.jccl.transport.RegionLayout;
import org.jccl.type.Operation;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A thread sleeps for hours unless the ear wakes it. Both ranks are threads of this process, in
 * which there is one ear at most; rank 0 has it.
 */
final class EarTest {
    private static final long HOURS_NS = 3_600_000_000_000L * 10;

    private static final Pattern EAR =
            Pattern.compile("(?s)Name:\\tjccl-ear\n.*\nvoluntary_ctxt_switches:\\s*(\\d+)\n");

    @BeforeEach
    void requireSystem() {
        assumeTrue(FutexVector.serves(1), "this system has no futex_waitv");
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "there is one core only");
    }

    @Test
    void wakesWhoSleepsWhenAMateActs() {
        Cluster.threads(2).runHere(EarTest::hearsAMate).assertAllSucceeded();
    }

    @Test
    void communicatorEndsWhileAThreadSleeps() {
        Cluster.threads(2).runHere(rank -> ends(rank, Comm::abort)).assertAllSucceeded();
    }

    @Test
    void wakesWhoSleepsWhenTheCrowdHasGone() {
        Cluster.threads(2).runHere(rank -> ends(rank, EarTest::calm)).assertAllSucceeded();
    }

    /** Another thread sleeps on the mate's word and is woken, again and again. */
    @Test
    void endsWhenNobodySleeps() {
        Cluster.threads(2)
                .runHere(
                        rank -> {
                            Comm comm = StreamAgentTest.create(rank, "n");
                            if (rank.number() == 0) {
                                begin(comm);
                                while (comm.executor().ear.visitors() > 0) {
                                    comm.executor().links.wakeSleepersOn(1);
                                    Thread.sleep(1);
                                }
                            }
                            part(rank, comm);
                        })
                .assertAllSucceeded();
    }

    /** Without these it sleeps once a second. */
    @Test
    void wakesByItself() {
        Cluster.threads(2).runHere(EarTest::beats).assertAllSucceeded();
    }

    private static void beats(Rank rank) throws Exception {
        Comm comm = StreamAgentTest.create(rank, "b");
        if (rank.number() == 0) {
            begin(comm);
            long untilNs = System.nanoTime() + Duration.ofMinutes(1).toNanos();
            long least = earsSleeps() + 500;
            while (earsSleeps() < least) {
                assertTrue(System.nanoTime() - untilNs < 0, "the ear does not wake by itself");
                comm.executor().ear.sleep(1);
                Thread.sleep(1);
            }
        }
        part(rank, comm);
    }

    /** How often the ear has gone to sleep; there is one, which may be about to begin. */
    private static long earsSleeps() throws IOException {
        try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
            return threads.mapToLong(EarTest::sleepsOfEar).sum();
        }
    }

    private static long sleepsOfEar(Path thread) {
        try {
            String status = Files.readString(thread.resolve("status"));
            Matcher ear = EAR.matcher(status);
            return ear.find() ? Long.parseLong(ear.group(1)) : 0;
        } catch (IOException over) {
            return 0;
        }
    }

    private static void hearsAMate(Rank rank) throws Exception {
        Comm comm = StreamAgentTest.create(rank, "h");
        try (Arena arena = Arena.ofShared()) {
            if (rank.number() == 0) {
                Thread asleep = asleep(comm);
                rank.post("asleep", "");
                awaitWaking(comm, asleep);
            } else {
                rank.await("asleep");
                StreamAgentTest.start(comm, Operation.SEND, arena.allocate(8, 8).address());
            }
            part(rank, comm);
        }
    }

    private static void ends(Rank rank, Consumer<Comm> end) throws Exception {
        Comm comm = StreamAgentTest.create(rank, "e");
        if (rank.number() == 0) {
            Thread asleep = asleep(comm);
            Thread user = Thread.ofPlatform().start(() -> use(comm));
            end.accept(comm);
            awaitWaking(comm, asleep);
            user.join();
            assertEquals(0, comm.executor().ear.visitors());
        }
        part(rank, comm);
    }

    private static void calm(Comm comm) {
        Crowd crowd = comm.executor().lingering.crowd;
        crowd.learn(1, System.nanoTime(), -1, -1);
        assertFalse(crowd.isThere());
    }

    /** A thread that sleeps on the mate's word when this returns. */
    private static Thread asleep(Comm comm) throws Exception {
        begin(comm);
        Thread thread = Thread.ofPlatform().start(() -> sleep(comm.executor(), 1));
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            assertTrue(thread.isAlive());
            Thread.sleep(1);
        }
        return thread;
    }

    private static void awaitWaking(Comm comm, Thread asleep) throws Exception {
        long untilNs = System.nanoTime() + Duration.ofMinutes(1).toNanos();
        while (asleep.isAlive()) {
            assertTrue(System.nanoTime() - untilNs < 0, "nobody wakes the thread");
            comm.executor().ear.sleep(1);
            Thread.sleep(1);
        }
    }

    private static void sleep(CommExecutor executor, int mate) {
        assertTrue(executor.gate.enter());
        executor.gate.startSleeping(mate);
        executor.ear.startSleeping();
        Memory.getAndSetInt(executor.links.base(mate) + RegionLayout.WAITERS, 1);
        executor.ear.sleep(HOURS_NS);
        executor.ear.stopSleeping();
        executor.gate.stopSleeping(mate);
        executor.gate.leave();
    }

    /** An ear listens, and has woken whoever slept before it did, when this returns. */
    private static void begin(Comm comm) throws Exception {
        CrowdTest.begin(comm);
        // That of a test before may be about to end.
        while (!comm.executor().ear.listens()) {
            Thread.sleep(1);
        }
        long enough = earsSleeps() + 5;
        while (earsSleeps() < enough) {
            comm.executor().ear.sleep(1);
            Thread.sleep(1);
        }
    }

    /** Uses the ear for as long as it is there, so that it does not end for want of use. */
    private static void use(Comm comm) {
        long untilNs = System.nanoTime() + Duration.ofMinutes(2).toNanos();
        while (comm.executor().ear.visitors() > 0 && System.nanoTime() - untilNs < 0) {
            comm.executor().ear.sleep(1);
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static void part(Rank rank, Comm comm) {
        rank.post("over" + rank.number(), "");
        rank.await("over" + (1 - rank.number()));
        comm.abort();
    }
}
