package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.AsyncCollectives;
import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Operations that complete futures. */
final class FuturesTest {
    private static final DataType INT = DataType.INT32;

    /** Goes through the slots of the ring several times. */
    private static final int LARGE = 3 << 20;

    static List<Cluster> clusters() {
        return List.of(
                Cluster.threads(1),
                Cluster.threads(3),
                Cluster.threads(4).nodes(2),
                Cluster.processes(2),
                Cluster.processes(2).onDevices());
    }

    static List<Cluster> pairs() {
        return List.of(Cluster.threads(2), Cluster.threads(2).nodes(2));
    }

    private static void inAll(Rank rank, java.util.function.BiConsumer<Communicator, Arena> body) {
        Communicator comm = rank.init();
        try (Arena arena = Arena.ofShared()) {
            body.accept(comm, arena);
            comm.close();
        } finally {
            comm.abort();
        }
    }

    /** Otherwise the memory would be freed and written all the same. */
    @ParameterizedTest
    @MethodSource("pairs")
    void callThatDoesNotBlockKeepsItsBuffers(Cluster cluster) {
        for (boolean group : List.of(false, true)) {
            cluster.runHere(rank -> receivesIntoGarbage(rank, group)).assertAllSucceeded();
        }
    }

    private static void receivesIntoGarbage(Rank rank, boolean group) {
        try (Communicator comm = rank.init(InitTest.NON_BLOCKING)) {
            comm.awaitReady(InitTest.SOON);
            if (rank.number() == 1) {
                rank.await("collected " + group);
                try (Arena arena = Arena.ofShared()) {
                    comm.send(Sums.filled(arena, 0, 100), 100, INT, 0);
                    comm.awaitReady(InitTest.SOON);
                }
                return;
            }
            WeakReference<MemorySegment> buffer = receive(comm, group);
            WeakReference<Object> garbage = new WeakReference<>(new Object());
            while (garbage.get() != null) {
                System.gc();
            }
            assertNotNull(buffer.get());
            rank.post("collected " + group, "");
            comm.awaitReady(InitTest.SOON);
        }
    }

    private static WeakReference<MemorySegment> receive(Communicator comm, boolean group) {
        MemorySegment data = Arena.ofAuto().allocate(400, 8);
        Runnable call = () -> comm.recv(data, 100, INT, 1);
        if (group) {
            Group.run(call);
        } else {
            call.run();
        }
        return new WeakReference<>(data);
    }

    private static NcclException failureOf(CompletableFuture<Void> future) {
        CompletionException thrown = assertThrows(CompletionException.class, future::join);
        return assertInstanceOf(NcclException.class, thrown.getCause());
    }

    /** Each operation once, all of them under way together, the later ones on earlier results. */
    public static final class EachOperation implements Scenario {
        @Override
        public void run(Rank rank) {
            Config config = Config.DEFAULT.withBlocking(rank.intArgument(1) == 1);
            Communicator comm = rank.init(config);
            comm.awaitReady(InitTest.SOON);
            try (Place place = Place.of(comm)) {
                each(comm, place, rank.intArgument(0));
            }
            comm.close();
        }

        private static void each(Communicator comm, Place place, int count) {
            int n = comm.count();
            int me = comm.rank();
            int next = (me + 1) % n;
            AsyncCollectives async = comm.inStream(place.stream()).async();
            MemorySegment mine = place.holding(Sums.filled(place.host(), me, count));
            MemorySegment sum = place.allocate(4L * count);
            MemorySegment part = place.allocate(4L * count);
            MemorySegment got = place.allocate(4L * count);
            List<MemorySegment> alls = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                alls.add(place.allocate(4L * count * n));
            }
            List<CompletableFuture<?>> futures = new ArrayList<>();
            futures.add(async.allReduce(mine, sum, count, INT, RedOp.SUM));
            futures.add(async.allGather(sum, alls.get(0), count, INT));
            futures.add(async.allToAll(alls.get(0), alls.get(1), count, INT));
            futures.add(async.reduceScatter(alls.get(1), part, count, INT, RedOp.MAX));
            futures.add(async.reduce(part, part, count, INT, RedOp.MIN, n - 1));
            futures.add(async.broadcast(part, part, count, INT, n - 1));
            futures.add(async.gather(part, alls.get(2), count, INT, 0));
            futures.add(async.scatter(alls.get(2), part, count, INT, 0));
            CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new)).join();
            boolean first = me % 2 == 0;
            CompletableFuture<Void> sent = first ? async.send(part, count, INT, next) : null;
            CompletableFuture<Void> received = async.recv(got, count, INT, (me + n - 1) % n);
            sent = first ? sent : async.send(part, count, INT, next);
            CompletableFuture.allOf(sent, received).join();
            Sums.checkSum(place.get(got), n, count);
            place.await();
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void everyOperationCompletesItsFutureWhenItsResultIsThere(Cluster cluster) {
        for (int count : List.of(1, 10_000, 300_000)) {
            for (int blocking = 0; blocking <= 1; blocking++) {
                cluster.run(EachOperation.class, count, blocking).assertAllSucceeded();
            }
        }
    }

    /** Threads that move operations of others must not run it. */
    @ParameterizedTest
    @MethodSource("pairs")
    void actionsThatWaitForEverHoldUpNoOtherOperation(Cluster cluster) {
        CountDownLatch end = new CountDownLatch(1);
        cluster.runHere(rank -> inAll(rank, (comm, arena) -> blocks(comm, arena, end)))
                .assertAllSucceeded();
    }

    /** What is received is sent after all actions have been attached, so none runs at once. */
    private static void blocks(Communicator comm, Arena arena, CountDownLatch end) {
        List<Thread> ran = new CopyOnWriteArrayList<>();
        List<CompletableFuture<?>> actions = new ArrayList<>();
        int count = LARGE / 32;
        for (int i = 0; i < 32; i++) {
            MemorySegment data = arena.allocate(4L * count, 8);
            actions.add(
                    comm.async()
                            .recv(data, count, INT, 1 - comm.rank())
                            .thenRun(
                                    () -> {
                                        ran.add(Thread.currentThread());
                                        awaitUninterrupted(end);
                                    }));
        }
        Sums.barrier(comm);
        MemorySegment data = Sums.filled(arena, comm.rank(), count);
        for (int i = 0; i < 32; i++) {
            actions.add(comm.async().send(data, count, INT, 1 - comm.rank()));
        }
        Sums.allReduce(comm, LARGE);
        if (comm.rank() == 0) {
            end.countDown();
        }
        CompletableFuture.allOf(actions.toArray(CompletableFuture[]::new)).join();
        assertEquals(32, ran.size());
        ran.forEach(thread -> assertTrue(thread.isVirtual(), thread.toString()));
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Each action starts the next operation and waits for it, a thousand deep. */
    @Test
    void actionsWaitForOperationsThatOtherActionsStart() {
        Cluster.threads(2)
                .runHere(rank -> inAll(rank, (comm, arena) -> deeper(comm, arena, 1_000)))
                .assertAllSucceeded();
    }

    private static void deeper(Communicator comm, Arena arena, int depth) {
        MemorySegment data = Sums.filled(arena, comm.rank(), 100);
        CompletableFuture<Void> future = comm.async().allReduce(data, data, 100, INT, RedOp.SUM);
        if (depth == 0) {
            future.join();
        } else {
            future.thenRunAsync(() -> deeper(comm, arena, depth - 1), Thread::startVirtualThread)
                    .join();
        }
        Sums.checkSum(data, comm.count(), 100);
    }

    /** The other rank makes the first call when this one is in the second, or about to be. */
    @ParameterizedTest
    @MethodSource("pairs")
    void aCallThatBlocksComesAfterThoseThatWereStarted(Cluster cluster) {
        cluster.runHere(rank -> inAll(rank, (comm, arena) -> startsThenBlocks(rank, comm, arena)))
                .assertAllSucceeded();
    }

    private static void startsThenBlocks(Rank rank, Communicator comm, Arena arena) {
        for (int i = 0; i < 100; i++) {
            MemorySegment data = Sums.filled(arena, comm.rank(), 10);
            if (comm.rank() == 0) {
                CompletableFuture<Void> started =
                        comm.async().allReduce(data, data, 10, INT, RedOp.SUM);
                rank.post("started " + i, "");
                Sums.allReduce(comm, 20);
                started.orTimeout(InitTest.SOON.toSeconds(), TimeUnit.SECONDS).join();
            } else {
                rank.await("started " + i);
                comm.allReduce(data, data, 10, INT, RedOp.SUM);
                Sums.allReduce(comm, 20);
            }
            Sums.checkSum(data, comm.count(), 10);
        }
    }

    @Test
    void cancellingAFutureLeavesTheOperationUnderWay() {
        Cluster.threads(2)
                .runHere(rank -> inAll(rank, (comm, arena) -> cancels(rank, comm, arena)))
                .assertAllSucceeded();
    }

    private static void cancels(Rank rank, Communicator comm, Arena arena) {
        MemorySegment data = Sums.filled(arena, comm.rank(), LARGE);
        if (comm.rank() == 0) {
            CompletableFuture<Void> future =
                    comm.async().allReduce(data, data, LARGE, INT, RedOp.SUM);
            assertTrue(future.cancel(true));
            assertThrows(CancellationException.class, future::join);
            rank.post("cancelled", "");
        } else {
            rank.await("cancelled");
            comm.allReduce(data, data, LARGE, INT, RedOp.SUM);
        }
        Sums.barrier(comm);
        Sums.checkSum(data, comm.count(), LARGE);
    }

    @Test
    void anInterruptedGetEndsTheWaitAlone() {
        Cluster.threads(2)
                .runHere(rank -> inAll(rank, (comm, arena) -> interrupted(rank, comm, arena)))
                .assertAllSucceeded();
    }

    private static void interrupted(Rank rank, Communicator comm, Arena arena) {
        MemorySegment data = Sums.filled(arena, comm.rank(), 10);
        if (comm.rank() == 0) {
            CompletableFuture<Void> future = comm.async().allReduce(data, data, 10, INT, RedOp.SUM);
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, future::get);
            rank.post("interrupted", "");
            future.join();
        } else {
            rank.await("interrupted");
            comm.allReduce(data, data, 10, INT, RedOp.SUM);
        }
        Sums.checkSum(data, comm.count(), 10);
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void anAbortCompletesFuturesWithItsReasonOnAllRanks(Cluster cluster) {
        cluster.runHere(
                        rank ->
                                inAll(
                                        rank,
                                        (comm, arena) -> {
                                            Sums.barrier(comm);
                                            aborts(comm, arena);
                                        }))
                .assertAllSucceeded();
    }

    private static void aborts(Communicator comm, Arena arena) {
        MemorySegment data = arena.allocate(8);
        int rank = comm.rank();
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            futures.add(comm.async().recv(data, 1, INT, 1 - rank));
        }
        if (rank == 0) {
            comm.abort();
        }
        for (CompletableFuture<Void> future : futures) {
            NcclException failed = failureOf(future);
            assertTrue(failed.getMessage().contains("comm 0x"), failed.getMessage());
            if (rank == 1) {
                assertEquals(NcclResult.REMOTE_ERROR, failed.result(), failed.getMessage());
            }
        }
        if (rank == 1) {
            NcclException later = failureOf(comm.async().send(data, 1, INT, 0));
            assertEquals(ErrorKind.FAILED_BEFORE, later.kind());
        } else {
            NcclException ended =
                    assertThrows(NcclException.class, () -> comm.async().send(data, 1, INT, 1));
            assertEquals(ErrorKind.ALREADY_ENDED, ended.kind());
        }
    }

    @Test
    void aRankThatCallsSomethingElseCompletesTheFutureOfTheOther() {
        Cluster.threads(2)
                .runHere(
                        rank -> {
                            Communicator comm = rank.init();
                            MemorySegment data = Arena.ofAuto().allocate(4L * (4 + rank.number()));
                            int count = 4 + rank.number();
                            NcclException failed =
                                    failureOf(
                                            comm.async()
                                                    .allReduce(data, data, count, INT, RedOp.SUM));
                            assertEquals(ErrorKind.CALLED_DIFFERENTLY, failed.kind());
                            comm.abort();
                        })
                .assertAllSucceeded();
    }

    @Test
    void aWrongArgumentIsThrownAndHasChangedNothing() {
        Cluster.threads(1)
                .runHere(
                        rank ->
                                inAll(
                                        rank,
                                        (comm, arena) -> {
                                            refuses(comm, arena);
                                            Sums.barrier(comm);
                                        }))
                .assertAllSucceeded();
    }

    private static void refuses(Communicator comm, Arena arena) {
        MemorySegment data = arena.allocate(16);
        MemorySegment heap = MemorySegment.ofArray(new int[4]);
        AsyncCollectives async = comm.async();
        assertKind(ErrorKind.BUFFER_ON_HEAP, () -> async.allGather(heap, data, 4, INT));
        assertKind(ErrorKind.BUFFER_TOO_SMALL, () -> async.allGather(data, data, 5, INT));
        assertKind(ErrorKind.ROOT_OR_PEER, () -> async.broadcast(data, data, 4, INT, 1));
        assertKind(
                ErrorKind.BUFFERS_OVERLAP,
                () -> async.allReduce(data, data.asSlice(4), 2, INT, RedOp.SUM));
        assertKind(ErrorKind.NULL_ARGUMENT, () -> async.allReduce(data, data, 4, INT, null));
    }

    private static void assertKind(ErrorKind kind, org.junit.jupiter.api.function.Executable call) {
        assertEquals(kind, assertThrows(NcclException.class, call).kind());
    }

    @Test
    void aGroupTakesNoOperationWithAFuture() {
        Cluster.threads(1)
                .runHere(
                        rank ->
                                inAll(
                                        rank,
                                        (comm, arena) -> {
                                            MemorySegment data = arena.allocate(4);
                                            Group.start();
                                            CompletableFuture<Void> future =
                                                    comm.async().allGather(data, data, 1, INT);
                                            NcclException end =
                                                    assertThrows(NcclException.class, Group::end);
                                            assertEquals(ErrorKind.FUTURE_IN_GROUP, end.kind());
                                            assertEquals(
                                                    ErrorKind.FUTURE_IN_GROUP,
                                                    failureOf(future).kind());
                                        }))
                .assertAllSucceeded();
    }

    /** What nobody else holds lives until the operation has ended. */
    @Test
    void anOperationKeepsItsCommunicatorAndItsBuffers() {
        Cluster.threads(2).runHere(FuturesTest::lost).assertAllSucceeded();
    }

    private static void lost(Rank rank) {
        int peer = 1 - rank.number();
        if (rank.number() == 0) {
            CompletableFuture<Void> sent = sendFromNowhere(rank);
            for (int i = 0; i < 5; i++) {
                System.gc();
                Arena.ofAuto().allocate(4L * LARGE).fill((byte) 7);
            }
            rank.post("collected", "");
            sent.join();
        } else {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4L * LARGE, 8);
                rank.await("collected");
                comm.recv(data, LARGE, INT, peer);
                MemorySegment expected = Sums.filled(arena, 5, LARGE);
                assertEquals(-1, data.mismatch(expected));
                assertFalse(data.get(ValueLayout.JAVA_INT, 0) == 0);
            }
        }
    }

    private static CompletableFuture<Void> sendFromNowhere(Rank rank) {
        Communicator comm = rank.init();
        MemorySegment data = Sums.filled(Arena.ofAuto(), 5, LARGE);
        return comm.async().send(data, LARGE, INT, 1);
    }
}
