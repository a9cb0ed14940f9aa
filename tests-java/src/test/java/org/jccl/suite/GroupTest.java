package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.progress.CommExecutor;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;

/** Groups: what is started together does not wait for one another. */
final class GroupTest {
    private static final int COUNT = 70_000;
    private static final int MOST_PENDING = 65_536;

    static List<Cluster> clusters() {
        return List.of(
                Cluster.threads(4),
                Cluster.threads(3).nodes(3),
                Cluster.threads(4).nodes(2),
                Cluster.processes(4),
                Cluster.processes(3).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.processes(4).ranksPerProcess(2).nodes(2));
    }

    /** Each sends to the next and receives from the previous, large and small, several times. */
    public static final class RingOfSends implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                int n = rank.nRanks();
                int next = (rank.number() + 1) % n;
                int previous = (rank.number() + n - 1) % n;
                for (int count : new int[] {1, 0, COUNT, 17, 1 << 20}) {
                    MemorySegment out = Sums.filled(arena, rank.number(), count);
                    MemorySegment in = arena.allocate(4L * count, 8);
                    Group.start();
                    comm.send(out, count, DataType.INT32, next);
                    comm.recv(in, count, DataType.INT32, previous);
                    Group.end();
                    MemorySegment expected = Sums.filled(arena, previous, count);
                    Sums.require(in.mismatch(expected) < 0, "wrong data of " + previous);
                }
            }
        }
    }

    /** Each sends to all and receives from all, in an order that would deadlock one by one. */
    public static final class AllToAll implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment out = Sums.filled(arena, rank.number(), COUNT);
                List<MemorySegment> in = new ArrayList<>();
                for (int peer = 0; peer < rank.nRanks(); peer++) {
                    in.add(arena.allocate(4L * COUNT, 8));
                }
                Group.run(
                        () -> {
                            for (int peer = 0; peer < rank.nRanks(); peer++) {
                                comm.send(out, COUNT, DataType.INT32, peer);
                            }
                            for (int peer = rank.nRanks() - 1; peer >= 0; peer--) {
                                comm.recv(in.get(peer), COUNT, DataType.INT32, peer);
                            }
                        });
                for (int peer = 0; peer < rank.nRanks(); peer++) {
                    MemorySegment expected = Sums.filled(arena, peer, COUNT);
                    Sums.require(in.get(peer).mismatch(expected) < 0, "wrong data of " + peer);
                }
            }
        }
    }

    /** Collectives on two communicators and a ring of sends, in nested groups. */
    public static final class NestedOfEverything implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator first = rank.init();
                    Communicator second = rank.init("second", Config.DEFAULT);
                    Arena arena = Arena.ofConfined()) {
                for (int round = 0; round < 20; round++) {
                    once(rank, first, second, arena);
                }
            }
        }

        private static void once(Rank rank, Communicator first, Communicator second, Arena arena) {
            int n = rank.nRanks();
            int me = rank.number();
            MemorySegment a = Sums.filled(arena, me, COUNT);
            MemorySegment b = Sums.filled(arena, me, 3);
            MemorySegment c = Sums.filled(arena, me, COUNT);
            MemorySegment out = Sums.filled(arena, me, COUNT);
            MemorySegment in = arena.allocate(4L * COUNT, 8);
            Group.start();
            first.allReduce(a, a, COUNT, DataType.INT32, RedOp.SUM);
            Group.start();
            second.allReduce(b, b, 3, DataType.INT32, RedOp.SUM);
            first.send(out, COUNT, DataType.INT32, (me + 1) % n);
            Group.end();
            Group.run(() -> second.allReduce(c, c, COUNT, DataType.INT32, RedOp.SUM));
            Sums.require(
                    a.getAtIndex(ValueLayout.JAVA_INT, 7) == me + 7, "an inner end started work");
            first.recv(in, COUNT, DataType.INT32, (me + n - 1) % n);
            Group.end();
            Sums.checkSum(a, n, COUNT);
            Sums.checkSum(b, n, 3);
            Sums.checkSum(c, n, COUNT);
            MemorySegment expected = Sums.filled(arena, (me + n - 1) % n, COUNT);
            Sums.require(in.mismatch(expected) < 0, "wrong data of the previous rank");
        }
    }

    /**
     * Rank 1 gives up on one communicator, and rank 2 never comes to the other one: rank 0, whose
     * group has operations on both, learns why. Argument 1: in a virtual thread.
     */
    public static final class OneOfTwoFails implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            Communicator first = rank.init();
            Communicator second = rank.init("second", Config.DEFAULT);
            if (rank.number() == 0) {
                FutureTask<NcclException> group = new FutureTask<>(() -> failure(first, second));
                Thread.Builder builder =
                        rank.intArgument(0) == 1 ? Thread.ofVirtual() : Thread.ofPlatform();
                builder.start(group);
                String said = String.valueOf(group.get().getMessage());
                Sums.require(said.contains("rank 1"), said);
                rank.post("known", "");
                first.abort();
            } else if (rank.number() == 1) {
                first.abort();
            } else {
                rank.await("known");
                first.abort();
            }
            rank.await("known");
            second.abort();
        }

        private static NcclException failure(Communicator first, Communicator second) {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment a = Sums.filled(arena, 0, COUNT);
                MemorySegment b = Sums.filled(arena, 0, COUNT);
                Group.run(
                        () -> {
                            second.recv(b, COUNT, DataType.INT32, 2);
                            first.allReduce(a, a, COUNT, DataType.INT32, RedOp.SUM);
                        });
                throw new AssertionError("the group went well");
            } catch (NcclException e) {
                return e;
            }
        }
    }

    /**
     * A group of rank 0 has an operation on each of two communicators. It aborts the first one, so
     * that its operation there is refused. Argument 1: whether rank 1 comes to the second one, a
     * little later, or never.
     */
    public static final class OneOfTwoIsRefused implements Scenario {
        @Override
        public void run(Rank rank) throws InterruptedException {
            Communicator first = rank.init();
            Communicator second = rank.init("second", Config.DEFAULT);
            boolean comes = rank.intArgument(0) == 1;
            try (Arena arena = Arena.ofShared()) {
                MemorySegment a = Sums.filled(arena, 0, COUNT);
                if (rank.number() == 0) {
                    NcclException refused = failure(first, second, a);
                    assertEquals(NcclResult.REMOTE_ERROR, refused.result(), refused.getMessage());
                    NcclResult result = comes ? NcclResult.SUCCESS : NcclResult.REMOTE_ERROR;
                    assertEquals(result, second.asyncError());
                    rank.post("known", "");
                } else {
                    if (comes) {
                        Thread.sleep(300);
                        second.send(a, COUNT, DataType.INT32, 0);
                    }
                    rank.await("known");
                    first.abort();
                }
            }
            second.abort();
        }

        private static NcclException failure(
                Communicator first, Communicator second, MemorySegment data) {
            return assertThrows(
                    NcclException.class,
                    () ->
                            Group.run(
                                    () -> {
                                        second.recv(data, COUNT, DataType.INT32, 1);
                                        first.send(data, COUNT, DataType.INT32, 1);
                                        first.abort();
                                    }));
        }
    }

    /** Sends outside groups: the even send first, the odd receive first. */
    public static final class PingPong implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                int peer = rank.number() ^ 1;
                if (peer >= rank.nRanks()) {
                    return;
                }
                MemorySegment out = Sums.filled(arena, rank.number(), COUNT);
                MemorySegment in = arena.allocate(4L * COUNT, 8);
                for (int round = 0; round < 50; round++) {
                    int count = round % 2 == 0 ? COUNT : round;
                    if (rank.number() < peer) {
                        comm.send(out, count, DataType.INT32, peer);
                        comm.recv(in, count, DataType.INT32, peer);
                    } else {
                        comm.recv(in, count, DataType.INT32, peer);
                        comm.send(out, count, DataType.INT32, peer);
                    }
                }
                MemorySegment expected = Sums.filled(arena, peer, COUNT);
                Sums.require(in.mismatch(expected) < 0, "wrong data of " + peer);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void ringOfSendsDoesNotDeadlock(Cluster cluster) {
        cluster.run(RingOfSends.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void sendsAndReceivesInOppositeOrdersMeet(Cluster cluster) {
        cluster.run(AllToAll.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void nestedGroupOfSeveralCommunicatorsEndsAsOne(Cluster cluster) {
        cluster.run(NestedOfEverything.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void sendsOutsideGroupsMeetTheirReceives(Cluster cluster) {
        cluster.run(PingPong.class).assertAllSucceeded();
    }

    static List<Arguments> groupsThatFail() {
        return List.of(
                Arguments.of(Cluster.threads(3), 0),
                Arguments.of(Cluster.threads(3), 1),
                Arguments.of(Cluster.processes(3).environment("NCCL_SHM_DISABLE", "1"), 0));
    }

    @ParameterizedTest
    @MethodSource("groupsThatFail")
    void failureOnOneCommunicatorEndsTheGroup(Cluster cluster, int inVirtualThread) {
        cluster.run(OneOfTwoFails.class, inVirtualThread).assertAllSucceeded();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void operationThatIsRefusedEndsTheGroup(int comes) {
        Cluster cluster = Cluster.threads(2).deadline(60);
        cluster.run(OneOfTwoIsRefused.class, comes).assertAllSucceeded();
    }

    /** A communicator that refuses one operation too many goes on with the others. */
    public static final class OneTooMany implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofShared()) {
                MemorySegment data = arena.allocate(8, 8);
                if (rank.number() == 0) {
                    for (int i = 0; i < MOST_PENDING - 1; i++) {
                        comm.async().recv(data, 1, DataType.INT64, 1);
                    }
                    NcclException refused =
                            assertThrows(
                                    NcclException.class,
                                    () ->
                                            Group.run(
                                                    () -> {
                                                        comm.recv(data, 1, DataType.INT64, 1);
                                                        comm.recv(data, 1, DataType.INT64, 1);
                                                    }));
                    assertEquals(NcclResult.INVALID_USAGE, refused.result());
                    assertEquals(NcclResult.SUCCESS, comm.asyncError());
                } else {
                    // Longer than a group waits for others where a communicator is over.
                    Thread.sleep(2500);
                    for (int i = 0; i < MOST_PENDING; i++) {
                        comm.send(data, 1, DataType.INT64, 0);
                    }
                }
            }
        }
    }

    @Test
    void refusedOperationEndsNoCommunicatorThatGoesOn() {
        Cluster.threads(2).run(OneTooMany.class).assertAllSucceeded();
    }

    @Test
    void oneThreadDrivesSeveralRanks() {
        List<Communicator> comms = Communicator.initAll(4);
        try (Arena arena = Arena.ofConfined()) {
            for (int count : new int[] {1, COUNT, 1 << 20}) {
                List<MemorySegment> data = new ArrayList<>();
                Group.start();
                for (Communicator comm : comms) {
                    MemorySegment own = Sums.filled(arena, comm.rank(), count);
                    data.add(own);
                    comm.allReduce(own, own, count, DataType.INT32, RedOp.SUM);
                }
                Group.end();
                data.forEach(own -> Sums.checkSum(own, 4, count));
            }
        } finally {
            closeAll(comms);
        }
    }

    @Test
    void oneThreadSendsToItself() {
        List<Communicator> comms = Communicator.initAll(2);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = Sums.filled(arena, 3, COUNT);
            MemorySegment in = arena.allocate(4L * COUNT, 8);
            MemorySegment other = arena.allocate(4L * COUNT, 8);
            Group.run(
                    () -> {
                        comms.get(0).send(out, COUNT, DataType.INT32, 0);
                        comms.get(0).send(out, COUNT, DataType.INT32, 1);
                        comms.get(1).recv(other, COUNT, DataType.INT32, 0);
                        comms.get(0).recv(in, COUNT, DataType.INT32, 0);
                    });
            assertEquals(-1, in.mismatch(out));
            assertEquals(-1, other.mismatch(out));
        } finally {
            closeAll(comms);
        }
    }

    @Test
    void endWithoutStartIsRefused() {
        NcclException thrown = assertThrows(NcclException.class, Group::end);
        assertEquals(NcclResult.INVALID_USAGE, thrown.result());
    }

    @Test
    void errorOfOneCallFailsTheGroupAndDropsTheOthers() {
        List<Communicator> comms = Communicator.initAll(2);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Sums.filled(arena, 0, 4);
            Group.start();
            comms.get(0).send(data, 4, DataType.INT32, 1);
            NcclException first =
                    assertThrows(
                            NcclException.class,
                            () -> comms.get(0).send(data, 4, DataType.INT32, 2));
            NcclException second = assertThrows(NcclException.class, Group::end);
            assertEquals(NcclResult.INVALID_ARGUMENT, first.result());
            assertEquals(NcclResult.INVALID_ARGUMENT, second.result());
            NcclException third = assertThrows(NcclException.class, Group::end);
            assertEquals(NcclResult.INVALID_USAGE, third.result());
            Runnable broadcasts =
                    () -> {
                        for (Communicator comm : comms) {
                            comm.broadcast(data, data, 4, DataType.INT32, 0);
                        }
                    };
            // The second one is written where the failed group was.
            Group.run(broadcasts);
            Group.run(broadcasts);
        } finally {
            closeAll(comms);
        }
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void sneak(Throwable thrown) throws T {
        throw (T) thrown;
    }

    /** As programs in Kotlin or Scala can. */
    @Test
    void checkedExceptionEndsTheGroupToo() {
        Communicator comm = alone(Config.DEFAULT);
        IOException sneaked = new IOException("of the test");
        Runnable calls = () -> GroupTest.<RuntimeException>sneak(sneaked);
        assertSame(sneaked, assertThrows(IOException.class, () -> Group.run(calls)));
        Sums.allReduce(comm, 10);
        comm.close();
    }

    @Test
    void operationThatANonBlockingGroupCannotTakeIsReported() {
        Communicator comm =
                Communicator.initRank(1, Communicator.uniqueId(), 0, InitTest.NON_BLOCKING);
        comm.awaitReady(InitTest.SOON);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment in = arena.allocate(4, 8);
            NcclException refused =
                    assertThrows(
                            NcclException.class,
                            () ->
                                    Group.run(
                                            () -> {
                                                for (int i = 0;
                                                        i <= CommExecutor.MAX_PENDING;
                                                        i++) {
                                                    comm.recv(in, 1, DataType.INT32, 0);
                                                }
                                            }));
            assertEquals(NcclResult.INVALID_USAGE, refused.result(), refused::toString);
            comm.abort();
        }
    }

    static void closeAll(List<Communicator> comms) {
        Group.run(() -> comms.forEach(Communicator::close));
    }

    /** A split that the group refuses leaves its parent as it was. */
    @Test
    void refusedSplitLeavesItsParentReady() {
        try (Communicator first = alone(Config.DEFAULT);
                Communicator second = alone(Config.DEFAULT.withBlocking(false))) {
            second.awaitReady(InitTest.SOON);
            Group.start();
            first.split(0, 0);
            NcclException mixed = assertThrows(NcclException.class, () -> second.split(0, 0));
            assertEquals(NcclResult.INVALID_ARGUMENT, mixed.result());
            assertThrows(NcclException.class, Group::end);
            assertEquals(NcclResult.SUCCESS, second.asyncError());
            NonBlocking.allReduce(second, 10);
            Sums.allReduce(first, 10);
        }
    }

    private static Communicator alone(Config config) {
        return Communicator.initRank(1, Communicator.uniqueId(), 0, config);
    }
}
