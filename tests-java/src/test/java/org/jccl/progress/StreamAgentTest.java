package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.call.Call;
import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.comm.Operations;
import org.jccl.executor.Task;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.platform.Memory;
import org.jccl.transport.RegionLayout;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclResult;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Operations that nobody waits for. */
final class StreamAgentTest {
    private static final long LATE_NS = 50_000;

    /** Calls of an attempt. */
    private static final int TOGETHER = 50;

    private static final String OUTSIDE = ArrayIndexOutOfBoundsException.class.getName();

    /**
     * A receive that begins when the thread has seen that nothing is under way any more, and before
     * it has said so. Nobody polls it; the cluster's deadline is the limit.
     */
    @Test
    void operationThatBeginsAsItsThreadTurnsAwayComesToItsEnd() {
        Cluster.threads(2).runHere(StreamAgentTest::beginsInBetween).assertAllSucceeded();
    }

    /** Between the look at the arrivals and the sleep, nobody would wake the thread. */
    @Test
    void threadLooksForArrivalsOnceItIsKnownToSleep() {
        Cluster.threads(2).runHere(StreamAgentTest::looksForArrivals).assertAllSucceeded();
    }

    /** A task that cannot be queued fails its communicator, and ends with it. */
    @Test
    void taskThatCannotBeQueuedEndsWithItsCommunicator() {
        Cluster.threads(2).runHere(StreamAgentTest::cannotBeQueued).assertAllSucceeded();
    }

    /** A thread waits for one communicator; nobody but the stream thread looks at the other. */
    @Test
    void timeLimitHoldsBesideACommunicatorThatIsWaitedFor() {
        Cluster.threads(2).runHere(StreamAgentTest::limitBesideAWait).assertAllSucceeded();
    }

    /** A thread that polls may never sleep, since other things always move. */
    @Test
    void whoeverMovesTheCommunicatorWithoutASleepLooksAtItsPeers() {
        Cluster.threads(3).runHere(StreamAgentTest::looksWhileItMoves).assertAllSucceeded();
    }

    /** A thread waits for one operation; another needs a rank that leaves. */
    @Test
    void lossIsKnownBesideAnotherOperationThatIsWaitedFor() {
        Cluster.threads(3).runHere(StreamAgentTest::lossBesideAWait).assertAllSucceeded();
    }

    /** On a machine with few cores a thread that is woken takes one from a rank. */
    @Test
    void startThatWaitsToTheEndWakesNoThread() {
        Cluster.threads(2).runHere(StreamAgentTest::waitsInItsStart).assertAllSucceeded();
    }

    @Test
    void whatIsNotOverWhenItsStartReturnsIsLeftToAThread() {
        Cluster.threads(2).runHere(rank -> startsWithALimit(rank, 1)).assertAllSucceeded();
    }

    /** The start must leave no wait behind: a stream thread stands back while somebody waits. */
    @Test
    void collectiveWhosePeerIsLateIsLeftToAThread() {
        Cluster.threads(2).runHere(rank -> startsWithALimit(rank, 0)).assertAllSucceeded();
    }

    @Test
    void collectiveWhosePeerComesSoonIsOverWhenItsStartReturns() {
        Cluster.threads(2).runHere(StreamAgentTest::startsTogether).assertAllSucceeded();
    }

    /**
     * While the machine does not run both at once neither meets the other. A communicator remembers
     * that for minutes (Crowd), so another one tries again.
     */
    private static void startsTogether(Rank rank) {
        int attempt = 0;
        while (foundOver(rank, "s" + attempt) < TOGETHER + TOGETHER / 2) {
            attempt++;
        }
    }

    /**
     * How many of {@link #TOGETHER} calls were over when their starts returned, of both ranks
     * together. If both looked only once, only the later one would find a call over, but for a few.
     * Rank 1 comes when rank 0 has looked, and before a start that stays gives up.
     */
    private static int foundOver(Rank rank, String name) {
        Comm comm = create(rank, name);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment found = arena.allocate(8, 8);
            int mine = 0;
            for (int calls = 0; calls <= TOGETHER; calls++) {
                found.set(ValueLayout.JAVA_INT, 0, mine);
                long startNs = System.nanoTime() + rank.number() * LATE_NS;
                while (System.nanoTime() - startNs < 0) {
                    Thread.onSpinWait();
                }
                long ticket = allReduce(comm, found.address(), 0);
                mine += ticket == 0 ? 1 : 0;
                Task task = comm.executor().tickets().task(ticket);
                assertTrue(task == null || Wait.of(comm.executor(), task).await(0));
            }
            rank.post(name + " over" + rank.number(), "");
            rank.await(name + " over" + (1 - rank.number()));
            return found.get(ValueLayout.JAVA_INT, 0);
        } finally {
            comm.abort();
        }
    }

    private static void waitsInItsStart(Rank rank) {
        Comm comm = create(rank, "s");
        try (Arena arena = Arena.ofConfined()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 1) {
                rank.await("begun");
                // The word is set by a thread that sleeps until this rank does something.
                long sleeper = comm.executor().links.ownBase() + RegionLayout.WAITERS;
                while (Memory.getIntAcquire(sleeper) == 0) {
                    Thread.onSpinWait();
                }
            } else {
                rank.post("begun", "");
            }
            assertEquals(0, allReduce(comm, data, 60_000));
            assertFalse(comm.executor().gate.attended());
            rank.post("over" + rank.number(), "");
            rank.await("over" + (1 - rank.number()));
        } finally {
            comm.abort();
        }
    }

    private static void startsWithALimit(Rank rank, int ms) throws InterruptedException {
        Comm comm = create(rank, "s");
        try (Arena arena = Arena.ofShared()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 0) {
                long ended = Completions.await(-1, 0);
                long ticket = allReduce(comm, data, ms);
                assertTrue(ticket != 0);
                Task task = comm.executor().tickets().task(ticket);
                assertTrue(task != null && !Submission.watch(comm.executor(), task));
                assertFalse(comm.executor().gate.waiting());
                rank.post("begun", "");
                awaitEnd(comm, ticket);
                // Whoever completes futures must hear of it, too.
                assertTrue(Completions.await(ended, 10_000) > ended);
            } else {
                rank.await("begun");
                assertEquals(0, allReduce(comm, data, 60_000));
            }
            rank.post("over" + rank.number(), "");
            rank.await("over" + (1 - rank.number()));
        } finally {
            comm.abort();
        }
    }

    static long allReduce(Comm comm, long data, int ms) {
        Call call = new Call().of(Operation.ALL_REDUCE).buffers(data, data);
        return Operations.start(comm, call.elements(1, DataType.INT32.number()), ms);
    }

    private static void looksWhileItMoves(Rank rank) {
        Comm comm = create(rank, "s");
        try (Arena arena = Arena.ofConfined()) {
            if (rank.number() != 0) {
                leave(rank, comm, "begun");
                return;
            }
            // No stream thread works beside the test.
            assertTrue(comm.executor().gate.startAttending());
            long data = arena.allocate(8, 8).address();
            Task needy = started(comm, data, 2);
            rank.post("begun", "");
            while (!comm.executor().look(needy)) {
                Thread.onSpinWait();
            }
            requireLeft(needy);
        } finally {
            rank.post("over", "");
            comm.abort();
        }
    }

    private static void lossBesideAWait(Rank rank) {
        Comm comm = create(rank, "s");
        try (Arena arena = Arena.ofConfined()) {
            if (rank.number() != 0) {
                leave(rank, comm, "begun");
                return;
            }
            long data = arena.allocate(8, 8).address();
            Task needy = started(comm, data, 2);
            Task late = started(comm, data, 1);
            rank.post("begun", "");
            // The thread that ends them ends one after the other.
            assertTrue(Wait.of(comm.executor(), late).await(0));
            assertTrue(Wait.of(comm.executor(), needy).await(0));
            requireLeft(late);
            requireLeft(needy);
        } finally {
            rank.post("over", "");
            comm.abort();
        }
    }

    /** Rank 2 leaves in good order, the others stay until all is over. */
    private static void leave(Rank rank, Comm comm, String when) {
        rank.await(when);
        if (rank.number() == 2) {
            comm.destroy();
        }
        rank.await("over");
    }

    private static Task started(Comm comm, long data, int peer) {
        long ticket = start(comm, Operation.RECV, data, peer);
        Task task = comm.executor().tickets().task(ticket);
        assertTrue(task != null);
        return task;
    }

    private static void requireLeft(Task task) {
        String why = String.valueOf(task.failure());
        assertTrue(why.contains("rank 2 has left"), why);
    }

    private static void cannotBeQueued(Rank rank) throws InterruptedException {
        Comm comm = create(rank, "s");
        Comm other = create(rank, "t");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocate(8, 8);
            if (rank.number() == 1) {
                rank.await("failed");
                data.set(ValueLayout.JAVA_INT, 0, 77);
                start(other, Operation.SEND, data.address());
                rank.await("over");
                return;
            }
            start(comm, Operation.RECV, data.address());
            long ticket = start(other, Operation.RECV, data.address());
            int nobody = 99;
            Task task = new Task().of(new Call().of(Operation.RECV).with(nobody), null);
            comm.executor().submit(task);
            while (!task.over() || comm.executor().busy()) {
                Thread.sleep(1);
            }
            String said = String.valueOf(comm.executor().failure());
            assertTrue(said.contains(OUTSIDE), said);
            rank.post("failed", "");
            awaitEnd(other, ticket);
            assertEquals(77, data.get(ValueLayout.JAVA_INT, 0));
            rank.post("over", "");
        } finally {
            comm.abort();
            other.abort();
        }
    }

    private static void limitBesideAWait(Rank rank) throws InterruptedException {
        List<Comm> comms = new ArrayList<>();
        // One more than there are stream threads: two share one.
        for (int i = 0; i <= StreamAgent.AGENTS.length; i++) {
            comms.add(create(rank, "c" + i));
        }
        try (Arena arena = Arena.ofShared()) {
            if (rank.number() == 1) {
                rank.await("over");
                return;
            }
            long data = arena.allocate(8, 8).address();
            Comm waited = null;
            Comm late = null;
            for (int i = 0; i < comms.size(); i++) {
                for (int j = 0; j < i; j++) {
                    if (StreamAgent.place(comms.get(i).executor())
                            == StreamAgent.place(comms.get(j).executor())) {
                        waited = comms.get(i);
                        late = comms.get(j);
                    }
                }
            }
            assertTrue(waited != null && late != null);
            CommExecutor executor = waited.executor();
            Task task = executor.tickets().task(start(waited, Operation.RECV, data));
            Thread waiter = Thread.ofPlatform().start(() -> Wait.of(executor, task).await(0));
            while (!executor.gate.waiting()) {
                Thread.sleep(1);
            }
            late.timeLimitMs(50);
            start(late, Operation.RECV, data);
            while (late.executor().failure() == null) {
                Thread.sleep(1);
            }
            assertEquals(NcclResult.TIMEOUT, late.executor().failure().result());
            waited.abort();
            waiter.join();
            rank.post("over", "");
        } finally {
            comms.forEach(Comm::abort);
        }
    }

    private static void looksForArrivals(Rank rank) throws InterruptedException {
        Comm comm = create(rank, "s");
        Gate gate = comm.executor().gate;
        try (Arena arena = Arena.ofConfined()) {
            if (rank.number() == 1) {
                rank.await("over");
                return;
            }
            // No stream thread works beside the test.
            assertTrue(gate.startAttending());
            start(comm, Operation.RECV, arena.allocate(8, 8).address());
            List<Boolean> looks = new ArrayList<>();
            BooleanSupplier arrivals =
                    () -> {
                        looks.add(gate.anySleeper());
                        return true;
                    };
            new Sleep(comm.executor(), arrivals).once(null, false, 0);
            assertEquals(List.of(true), looks);
            assertFalse(gate.anySleeper());
            rank.post("over", "");
        } finally {
            comm.abort();
        }
    }

    private static void beginsInBetween(Rank rank) throws InterruptedException {
        Comm comm = create(rank, "s");
        Gate gate = comm.executor().gate;
        try (Arena arena = Arena.ofConfined()) {
            long data = arena.allocate(8, 8).address();
            if (rank.number() == 1) {
                rank.await("turned away");
                start(comm, Operation.SEND, data);
                rank.await("over");
                return;
            }
            // The test stands for the thread.
            assertTrue(gate.startAttending());
            long ticket = start(comm, Operation.RECV, data);
            StreamAgent.turnAway(comm.executor());
            assertTrue(gate.attended(), "nobody looks after the operation");
            rank.post("turned away", "");
            awaitEnd(comm, ticket);
            rank.post("over", "");
        } finally {
            comm.abort();
        }
    }

    static Comm create(Rank rank, String name) {
        NcclConfig config = NcclConfig.DEFAULT.withBlocking(false);
        Creation creation =
                Creation.initBlocking(rank.uniqueId(name), rank.nRanks(), rank.number(), config);
        while (!creation.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        creation.result();
        return creation.comm();
    }

    /** Nobody is to poll the operation, so that nothing but a look tells of its end. */
    static void awaitEnd(Comm comm, long ticket) throws InterruptedException {
        while (comm.executor().tickets().task(ticket) != null) {
            Thread.sleep(1);
        }
    }

    static long start(Comm comm, Operation operation, long data) {
        return start(comm, operation, data, 1 - comm.rank());
    }

    private static long start(Comm comm, Operation operation, long data, int peer) {
        Call call = new Call().of(operation).buffer(data);
        return Operations.start(comm, call.elements(1, DataType.INT32.number()).with(peer), 0);
    }
}
