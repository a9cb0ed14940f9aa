package org.jccl.executor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.comm.Operations;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.log.LastError;
import org.jccl.platform.Memory;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.AbstractCollection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/** Operations that nobody waits for. */
final class StreamAgentTest {
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

    /** The failure is of a task that says nothing sensible; another operation is under way. */
    @Test
    void threadOutlivesAFailureAndSaysSoOnce() {
        Cluster.threads(2).runHere(StreamAgentTest::outlivesAFailure).assertAllSucceeded();
    }

    private static void outlivesAFailure(Rank rank) throws InterruptedException {
        Comm comm = create(rank);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocate(8, 8);
            if (rank.number() == 1) {
                rank.await("survived");
                data.set(ValueLayout.JAVA_INT, 0, 77);
                start(comm, Operation.SEND, data.address());
                rank.await("over");
                return;
            }
            long ticket = start(comm, Operation.RECV, data.address());
            long lines = Memory.getLong(LastError.address());
            int nobody = 99;
            comm.executor().submit(new Task().pointToPoint(Operation.RECV, 0, 0, 0, 0, 0, nobody));
            while (Memory.getLong(LastError.address()) == lines) {
                Thread.sleep(1);
            }
            String said = LastError.get();
            assertTrue(said.contains("jccl-stream goes on after: " + OUTSIDE), said);
            rank.post("survived", "");
            awaitEnd(comm, ticket);
            assertEquals(77, data.get(ValueLayout.JAVA_INT, 0));
            assertEquals(lines + 1, Memory.getLong(LastError.address()));
            rank.post("over", "");
        } finally {
            comm.abort();
        }
    }

    private static void looksForArrivals(Rank rank) throws InterruptedException {
        Comm comm = create(rank);
        Gate gate = comm.executor().gate();
        try (Arena arena = Arena.ofConfined()) {
            if (rank.number() == 1) {
                rank.await("over");
                return;
            }
            // No stream thread works beside the test.
            assertTrue(gate.startAttending());
            start(comm, Operation.RECV, arena.allocate(8, 8).address());
            List<Boolean> looks = new ArrayList<>();
            Collection<Object> arrivals =
                    new AbstractCollection<>() {
                        @Override
                        public boolean isEmpty() {
                            looks.add(gate.anySleeper());
                            return false;
                        }

                        @Override
                        public Iterator<Object> iterator() {
                            throw new AssertionError();
                        }

                        @Override
                        public int size() {
                            throw new AssertionError();
                        }
                    };
            Waiter.sleep(comm.executor(), null, false, 0, arrivals);
            assertEquals(List.of(true), looks);
            assertFalse(gate.anySleeper());
            rank.post("over", "");
        } finally {
            comm.abort();
        }
    }

    private static void beginsInBetween(Rank rank) throws InterruptedException {
        Comm comm = create(rank);
        Gate gate = comm.executor().gate();
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

    private static Comm create(Rank rank) {
        NcclConfig config = NcclConfig.DEFAULT.withBlocking(false);
        Creation creation = Comm.createBlocking(rank.uniqueId("s"), 2, rank.number(), config);
        while (!creation.await(System.nanoTime() + 1_000_000_000L)) {
            Thread.onSpinWait();
        }
        creation.result();
        return creation.comm();
    }

    /** Nobody is to poll the operation, so that nothing but a look tells of its end. */
    private static void awaitEnd(Comm comm, long ticket) throws InterruptedException {
        while (comm.executor().tickets().task(ticket) != null) {
            Thread.sleep(1);
        }
    }

    private static long start(Comm comm, Operation operation, long data) {
        int peer = 1 - comm.rank();
        return Operations.start(comm, operation, data, data, 1, DataType.INT32, 0, peer);
    }
}
