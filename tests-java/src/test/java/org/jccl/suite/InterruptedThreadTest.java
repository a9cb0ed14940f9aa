package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** Thread.interrupt on a thread that waits. */
final class InterruptedThreadTest {
    private static final int LARGE = 1 << 20;

    static Stream<Object[]> places() {
        return Stream.of(Cluster.threads(2), Cluster.threads(2).nodes(2))
                .flatMap(
                        cluster ->
                                Stream.of(true, false)
                                        .map(virtual -> new Object[] {cluster, virtual}));
    }

    /** Interrupts a thread in the call, once it is in it; the failure, with the thread's status. */
    private static NcclException interrupted(boolean virtual, Executable call) throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        FutureTask<NcclException> task =
                new FutureTask<>(
                        () -> {
                            begun.countDown();
                            NcclException thrown = assertThrows(NcclException.class, call);
                            assertTrue(Thread.currentThread().isInterrupted());
                            return thrown;
                        });
        Thread thread = start(virtual, task);
        begun.await();
        thread.interrupt();
        return task.get();
    }

    private static Thread start(boolean virtual, Runnable task) {
        return virtual ? Thread.ofVirtual().start(task) : Thread.ofPlatform().start(task);
    }

    @ParameterizedTest
    @MethodSource("places")
    void theWaitEndsAndOtherCommunicatorsGoOn(Cluster cluster, boolean virtual) {
        cluster.runHere(rank -> interruptOne(rank, virtual)).assertAllSucceeded();
    }

    private static void interruptOne(Rank rank, boolean virtual) throws Exception {
        Communicator first = rank.init("first", Config.DEFAULT);
        try (Communicator second = rank.init("second", Config.DEFAULT)) {
            Sums.allReduce(first, LARGE);
            Sums.allReduce(second, LARGE);
            if (rank.number() == 0) {
                NcclException thrown = interrupted(virtual, () -> Sums.barrier(first));
                assertEquals(ErrorKind.INTERRUPTED, thrown.kind());
                rank.post("interrupted", "");
            } else {
                rank.await("interrupted");
                // What rank 0 had given before is enough for one.
                NcclException told =
                        assertThrows(
                                NcclException.class,
                                () -> {
                                    Sums.barrier(first);
                                    Sums.barrier(first);
                                });
                assertEquals(NcclResult.REMOTE_ERROR, told.result());
                assertTrue(told.getMessage().contains("interrupted"), told.getMessage());
            }
            for (int i = 0; i < 20; i++) {
                Sums.allReduce(second, LARGE / (i + 1));
            }
            first.close();
            Sums.allReduce(second, LARGE);
        }
    }

    @ParameterizedTest
    @MethodSource("places")
    void eachThreadThatWaitedFailsWithAStackOfItsOwn(Cluster cluster, boolean virtual) {
        cluster.runHere(rank -> endTwo(rank, virtual)).assertAllSucceeded();
    }

    private static void endTwo(Rank rank, boolean virtual) throws Exception {
        Communicator comm = rank.init();
        try (Arena arena = Arena.ofShared()) {
            Sums.barrier(comm);
            if (rank.number() == 1) {
                rank.await("both wait");
                return;
            }
            Predicate<StackTraceElement> waits =
                    frame -> frame.getClassName().equals("org.jccl.progress.Wait");
            List<FutureTask<NcclException>> tasks = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                MemorySegment data = arena.allocate(4, 4);
                Executable call = () -> comm.recv(data, 1, DataType.INT32, 1);
                FutureTask<NcclException> task =
                        new FutureTask<>(() -> assertThrows(NcclException.class, call));
                Thread thread = start(virtual, task);
                while (Arrays.stream(thread.getStackTrace()).noneMatch(waits)) {
                    Thread.onSpinWait();
                }
                tasks.add(task);
            }
            rank.post("both wait", "");
            NcclException first = tasks.get(0).get();
            NcclException second = tasks.get(1).get();
            assertNotSame(first, second);
            for (NcclException each : List.of(first, second)) {
                String test = InterruptedThreadTest.class.getName();
                Stream<StackTraceElement> stack = Arrays.stream(each.getStackTrace());
                assertTrue(stack.anyMatch(frame -> frame.getClassName().equals(test)));
            }
        } finally {
            comm.abort();
        }
    }

    @ParameterizedTest
    @MethodSource("places")
    void anInitEndsOnAllRanks(Cluster cluster, boolean virtual) {
        cluster.runHere(
                        rank -> {
                            if (rank.number() == 0) {
                                NcclException thrown = interrupted(virtual, () -> rank.init());
                                assertEquals(ErrorKind.INTERRUPTED, thrown.kind());
                            }
                        })
                .assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("places")
    void aWaitForReadinessEndsAlone(Cluster cluster, boolean virtual) {
        cluster.runHere(rank -> awaitAgain(rank, virtual)).assertAllSucceeded();
    }

    private static void awaitAgain(Rank rank, boolean virtual) throws Exception {
        if (rank.number() == 1) {
            rank.await("interrupted");
        }
        try (Communicator comm = rank.init(Config.DEFAULT.withBlocking(false))) {
            if (rank.number() == 0) {
                NcclException thrown = interrupted(virtual, () -> comm.awaitReady(InitTest.SOON));
                assertEquals(ErrorKind.INTERRUPTED, thrown.kind());
                rank.post("interrupted", "");
            }
            comm.awaitReady(InitTest.SOON);
            NonBlocking.allReduce(comm, 10);
        }
    }

    @ParameterizedTest
    @MethodSource("places")
    void anInterruptedThreadMayCallWhatNeedNotWait(Cluster cluster, boolean virtual) {
        cluster.runHere(
                        rank -> {
                            FutureTask<List<Integer>> task =
                                    new FutureTask<>(() -> queriedWhileInterrupted(rank));
                            start(virtual, task);
                            assertEquals(List.of(rank.number(), 2), task.get());
                        })
                .assertAllSucceeded();
    }

    /** What a communicator answers, whose end does not wait either. */
    private static List<Integer> queriedWhileInterrupted(Rank rank) {
        List<Integer> answers;
        try (Communicator comm = rank.init()) {
            Sums.barrier(comm);
            Thread.currentThread().interrupt();
            answers = List.of(comm.rank(), comm.count());
        }
        assertTrue(Thread.interrupted());
        return answers;
    }
}
