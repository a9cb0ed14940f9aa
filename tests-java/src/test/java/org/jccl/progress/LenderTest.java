package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.comm.Comm;
import org.jccl.executor.Task;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.platform.FutexVector;
import org.jccl.platform.Memory;
import org.jccl.transport.RegionLayout;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A thread that waits for ends is lent to operations that nobody waits for. Both ranks are threads
 * of this process, in which one thread at most is lent; only rank 0 lends one.
 */
final class LenderTest {
    private static final int TURNS = 500;
    private static final int LONG_MS = 600_000;

    @Test
    void lentThreadProgressesWhatBeginsAndHearsOfItsEnd() {
        Cluster.threads(2).runHere(rank -> progresses(rank, false)).assertAllSucceeded();
    }

    /** Another thread wakes it then, and another one hears the peer. */
    @Test
    void lentThreadDoesSoInACrowd() {
        Cluster.threads(2).runHere(rank -> progresses(rank, true)).assertAllSucceeded();
    }

    /** It returns for the end of one operation while another is under way. */
    @Test
    void threadThatReturnsLeavesTheRestToOthers() {
        Cluster.threads(2).runHere(LenderTest::passesOn).assertAllSucceeded();
    }

    /** Operations begin at all moments of threads that come and go, and nobody polls them. */
    @Test
    void noOperationIsForgottenWhereThreadsComeAndGo() {
        Cluster.threads(2).runHere(LenderTest::comesAndGoes).assertAllSucceeded();
    }

    /** The lent thread has nothing to progress, and would stay for minutes. */
    @Test
    void endThatAnotherThreadBringsAboutEndsTheWait() throws InterruptedException {
        long seen = Completions.await(-1, 0);
        Thread lent = lent(() -> assertNotEquals(seen, Completions.await(seen, LONG_MS)));
        while (lent.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
        Completions.add();
        assertTrue(lent.join(Duration.ofMinutes(1)));
    }

    /** Beside other work, even if all peers have come. */
    @Test
    void collectiveIsLeftToTheThreadThatAttendsInACrowd() {
        Cluster.threads(2).runHere(LenderTest::leaves).assertAllSucceeded();
    }

    private static void progresses(Rank rank, boolean crowd) throws InterruptedException {
        Comm comm = StreamAgentTest.create(rank, "l");
        try (Arena arena = Arena.ofShared()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 1) {
                rank.await("begun");
                Memory.putInt(data, 77);
                StreamAgentTest.start(comm, Operation.SEND, data);
                rank.await("over");
                return;
            }
            long seen = Completions.await(-1, 0);
            Thread lent = lent(() -> assertNotEquals(seen, Completions.await(seen, LONG_MS)));
            if (crowd) {
                CrowdTest.begin(comm);
            }
            Task task = comm.executor().tickets().task(receive(comm, data, lent));
            assertTrue(task != null && !Submission.watch(comm.executor(), task));
            if (crowd && comm.executor().helpersHaveCores && FutexVector.serves(1)) {
                // Begun by the lent thread's first sleep.
                while (comm.executor().ear.visitors() == 0) {
                    Thread.sleep(1);
                }
            }
            rank.post("begun", "");
            lent.join();
            assertTrue(task.over());
            assertEquals(77, Memory.getInt(data));
        } finally {
            rank.post("over", "");
            comm.abort();
        }
    }

    private static void passesOn(Rank rank) throws InterruptedException {
        Comm early = StreamAgentTest.create(rank, "e");
        Comm late = StreamAgentTest.create(rank, "l");
        try (Arena arena = Arena.ofShared()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 1) {
                rank.await("begun");
                StreamAgentTest.start(early, Operation.SEND, data);
                rank.await("gone");
                StreamAgentTest.start(late, Operation.SEND, data);
                rank.await("over");
                return;
            }
            long seen = Completions.await(-1, 0);
            Thread lent = lent(() -> Completions.await(seen, LONG_MS));
            long ticket = receive(late, data, lent);
            // The lent thread takes no second communicator.
            long other = StreamAgentTest.start(early, Operation.RECV, data);
            assertNotEquals(lent, early.executor().gate.attendant);
            Task task = early.executor().tickets().task(other);
            assertTrue(task != null && !Submission.watch(early.executor(), task));
            rank.post("begun", "");
            lent.join();
            rank.post("gone", "");
            StreamAgentTest.awaitEnd(late, ticket);
        } finally {
            rank.post("over", "");
            early.abort();
            late.abort();
        }
    }

    private static void comesAndGoes(Rank rank) throws InterruptedException {
        Comm comm = StreamAgentTest.create(rank, "l");
        AtomicBoolean over = new AtomicBoolean();
        Thread lent = null;
        try (Arena arena = Arena.ofShared()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 0) {
                lent =
                        Thread.ofPlatform()
                                .start(
                                        () -> {
                                            long seen = 0;
                                            while (!over.get()) {
                                                seen = Completions.await(seen, 1);
                                            }
                                        });
            }
            for (int turn = 0; turn < TURNS; turn++) {
                CrowdTest.begin(comm);
                long ticket = StreamAgentTest.allReduce(comm, data, 0);
                Task task = comm.executor().tickets().task(ticket);
                if (task != null && turn % 2 == 0) {
                    Submission.watch(comm.executor(), task);
                }
                StreamAgentTest.awaitEnd(comm, ticket);
            }
            rank.post("over" + rank.number(), "");
            rank.await("over" + (1 - rank.number()));
        } finally {
            over.set(true);
            if (lent != null) {
                lent.join();
            }
            comm.abort();
        }
    }

    private static void leaves(Rank rank) throws InterruptedException {
        Comm comm = StreamAgentTest.create(rank, "l");
        try (Arena arena = Arena.ofShared()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 1) {
                // The other rank's message, which is not left, comes first.
                long ticket = StreamAgentTest.start(comm, Operation.RECV, data);
                rank.post("begun", "");
                StreamAgentTest.awaitEnd(comm, ticket);
                assertEquals(0, StreamAgentTest.allReduce(comm, data, LONG_MS));
                rank.await("over");
                return;
            }
            rank.await("begun");
            CrowdTest.begin(comm);
            assertEquals(0, StreamAgentTest.start(comm, Operation.SEND, data));
            // The word is set by a thread that sleeps until this rank does something.
            long sleeper = comm.executor().links.ownBase() + RegionLayout.WAITERS;
            while (Memory.getIntAcquire(sleeper) == 0) {
                Thread.sleep(1);
            }
            CrowdTest.begin(comm);
            long ticket = StreamAgentTest.allReduce(comm, data, 0);
            assertNotEquals(0, ticket);
            StreamAgentTest.awaitEnd(comm, ticket);
        } finally {
            rank.post("over", "");
            comm.abort();
        }
    }

    /** A thread that is lent when this returns. */
    private static Thread lent(Runnable body) throws InterruptedException {
        Thread thread = Thread.ofPlatform().start(body);
        while (!Lender.isLent(thread)) {
            Thread.sleep(1);
        }
        return thread;
    }

    /** The ticket of a receive that a thread attends. */
    private static long receive(Comm comm, long data, Thread lent) {
        // A communicator may still be attended because of its own creation.
        while (comm.executor().gate.attended()) {
            Thread.onSpinWait();
        }
        long ticket = StreamAgentTest.start(comm, Operation.RECV, data);
        assertEquals(lent, comm.executor().gate.attendant);
        return ticket;
    }
}
