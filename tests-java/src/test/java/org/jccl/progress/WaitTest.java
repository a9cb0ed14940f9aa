package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.call.Call;
import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.comm.Operations;
import org.jccl.executor.Task;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** A wait for operations. */
final class WaitTest {
    private static final long LARGE = 4 << 20;

    /** Otherwise a wait would sleep between the parts of a message. */
    @Test
    void bytesThatMoveCountThoughNoOperationIsOver() {
        Cluster.threads(2).runHere(WaitTest::movesAPart).assertAllSucceeded();
    }

    /** Otherwise an abort would wait until everything is read. */
    @Test
    void ownerThatReadsMuchLetsOthersIn() {
        Cluster.threads(2).runHere(WaitTest::readsMuch).assertAllSucceeded();
    }

    private static void readsMuch(Rank rank) {
        Comm comm = create(rank);
        CommExecutor executor = comm.executor();
        try (Arena arena = Arena.ofShared()) {
            // No stream thread works beside the test.
            assertTrue(executor.gate.startAttending());
            long bytes = 40 << 20;
            long in = arena.allocate(bytes, 64).address();
            long out = arena.allocate(2 * bytes, 64).address();
            Call call = new Call().of(Operation.ALL_GATHER).buffers(in, out);
            call.elements(bytes, DataType.UINT8.number());
            if (rank.number() == 0) {
                rank.await("begun");
            }
            Task task = executor.tickets().task(Operations.start(comm, call, 0));
            assertTrue(task != null);
            Wait wait = Wait.of(executor, task);
            if (rank.number() == 1) {
                rank.post("begun", "");
                rank.await("looked");
            } else {
                // 16 MiB were read by the start; the last 8 end with a wait for the other rank.
                assertEquals(Wait.Pass.MOVED, wait.pass());
                assertEquals(Wait.Pass.BLOCKED, wait.pass());
                rank.post("looked", "");
            }
            assertTrue(wait.await(0));
            assertTrue(task.over());
            assertNull(task.failure());
        } finally {
            comm.abort();
        }
    }

    /** Otherwise a mate could take bytes for right that a caller has written over. */
    @Test
    void matesAreToldBeforeACallerHasItsBufferAgain() {
        Cluster.threads(2).runHere(WaitTest::isStopped).assertAllSucceeded();
    }

    private static void isStopped(Rank rank) {
        Comm comm = create(rank);
        CommExecutor executor = comm.executor();
        try (Arena arena = Arena.ofShared()) {
            // Both are in before one can be told of the other's end.
            String name = " has submitted";
            Task task = task(Operation.RECV, arena.allocate(8, 8).address(), 8, 1 - rank.number());
            executor.submit(task);
            rank.post(rank.number() + name, "");
            rank.await(1 - rank.number() + name);
            AtomicLong status = new AtomicLong();
            task.whenOver(() -> status.set(executor.links.region(rank.number()).status()));
            Parting.interrupt(executor);
            assertNotEquals(0, status.get());
        } finally {
            comm.abort();
        }
    }

    /** A virtual thread that slept in a system call would keep its carrier from all others. */
    @Test
    void virtualThreadGivesItsCarrierAwayWhileItWaits() {
        Cluster.threads(2).runHere(WaitTest::waitsVirtually).assertAllSucceeded();
    }

    private static void waitsVirtually(Rank rank) throws InterruptedException {
        Comm comm = create(rank);
        CommExecutor executor = comm.executor();
        try (Arena arena = Arena.ofShared()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 1) {
                rank.await("all wait");
                executor.submit(task(Operation.SEND, data, 8, 0));
                assertTrue(Wait.untilIdle(executor).await(0));
                rank.await("all have ended");
                return;
            }
            Task task = task(Operation.RECV, data, 8, 1);
            executor.submit(task);
            List<Thread> waiters = new ArrayList<>();
            // More than there are carriers: with each of them kept, the rest would never begin.
            for (int i = 0; i < 8 * Runtime.getRuntime().availableProcessors(); i++) {
                waiters.add(Thread.startVirtualThread(() -> Wait.of(executor, task).await(0)));
            }
            for (Thread waiter : waiters) {
                while (waiter.getState() != Thread.State.TIMED_WAITING) {
                    Thread.onSpinWait();
                }
            }
            rank.post("all wait", "");
            for (Thread waiter : waiters) {
                waiter.join();
            }
            assertTrue(task.over());
            assertNull(task.failure());
            rank.post("all have ended", "");
        } finally {
            comm.abort();
        }
    }

    private static Comm create(Rank rank) {
        NcclConfig config = NcclConfig.DEFAULT;
        Creation creation = Creation.initBlocking(rank.uniqueId("s"), 2, rank.number(), config);
        while (!creation.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        creation.result();
        return creation.comm();
    }

    private static void movesAPart(Rank rank) {
        Comm comm = create(rank);
        CommExecutor executor = comm.executor();
        try (Arena arena = Arena.ofConfined()) {
            // No stream thread works beside the test.
            assertTrue(executor.gate.startAttending());
            long data = arena.allocate(LARGE, 8).address();
            Operation op = rank.number() == 0 ? Operation.RECV : Operation.SEND;
            Task first = task(op, data, LARGE, 1 - rank.number());
            Task second = task(op, data, 8, 1 - rank.number());
            executor.submit(first);
            executor.submit(second);
            Wait wait = Wait.ofAll(Map.of(executor, List.of(first, second)), null);
            if (rank.number() == 1) {
                assertEquals(Wait.Pass.MOVED, wait.pass());
                rank.post("some is sent", "");
                rank.await("some has come");
            } else {
                rank.await("some is sent");
                assertEquals(Wait.Pass.MOVED, wait.pass());
                assertEquals(Wait.Pass.BLOCKED, wait.pass());
                rank.post("some has come", "");
            }
            assertTrue(wait.await(0));
            assertEquals(Wait.Pass.OVER, wait.pass());
        } finally {
            comm.abort();
        }
    }

    private static Task task(Operation op, long data, long bytes, int peer) {
        int type = DataType.UINT8.number();
        return new Task().of(new Call().of(op).buffer(data).elements(bytes, type).with(peer), null);
    }
}
