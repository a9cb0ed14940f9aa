package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * Scenario S1: two nodes of two ranks, non-blocking init, then rails and nodes by split, with a
 * barrier between, then all-gathers on every communicator from threads that did not create them.
 */
final class ScenarioS1Test {
    private static final int[] COUNTS = {1, 700, 100_000};
    private static final int ROUNDS = 8;

    /** One rank of the scenario, as often as the argument says. */
    public static final class S1 implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            for (int time = 0; time < rank.intArgument(0); time++) {
                run(rank.number(), rank.init("world " + time, InitTest.NON_BLOCKING));
            }
        }

        private static void run(int me, Communicator world) throws Exception {
            world.awaitReady(InitTest.SOON);
            NonBlocking.allReduce(world, 1);
            Communicator rail = child(world, me % 2, me);
            NonBlocking.allReduce(world, 1);
            Communicator node = child(world, me / 2, me);
            NonBlocking.allReduce(world, 1);
            List<Communicator> comms = List.of(world, rail, node);
            List<FutureTask<Boolean>> gathers =
                    comms.stream().map(comm -> new FutureTask<>(() -> gather(comm))).toList();
            for (FutureTask<Boolean> gather : gathers) {
                Thread.ofPlatform().name("gather").daemon().start(gather);
            }
            for (FutureTask<Boolean> gather : gathers) {
                get(gather);
            }
            node.close();
            rail.close();
            world.close();
        }

        private static Communicator child(Communicator world, int color, int key) {
            Communicator child =
                    Objects.requireNonNull(world.split(color, key, InitTest.NON_BLOCKING));
            child.awaitReady(InitTest.SOON);
            world.awaitReady(InitTest.SOON);
            Sums.require(child.count() == 2, child.count() + " ranks in the child");
            return child;
        }

        private static Boolean gather(Communicator comm) {
            for (int round = 0; round < ROUNDS; round++) {
                for (int count : COUNTS) {
                    try (Arena arena = Arena.ofShared()) {
                        int nRanks = comm.count();
                        MemorySegment own = arena.allocate(4L * count, 8);
                        for (int i = 0; i < count; i++) {
                            own.setAtIndex(java.lang.foreign.ValueLayout.JAVA_INT, i, comm.rank());
                        }
                        MemorySegment all = arena.allocate(4L * count * nRanks, 8);
                        comm.allGather(own, all, count, DataType.INT32);
                        comm.awaitReady(InitTest.SOON);
                        Sums.checkGathered(all, nRanks, count);
                    }
                }
            }
            return true;
        }

        private static void get(FutureTask<Boolean> task) throws Exception {
            try {
                task.get();
            } catch (ExecutionException e) {
                throw e.getCause() instanceof Exception cause ? cause : e;
            }
        }
    }

    @RepeatedTest(5)
    void allGathersOfForeignThreadsOnRailsAndNodes() {
        Cluster.processes(4).nodes(2).run(S1.class, 1).assertAllSucceeded();
    }

    @Test
    void worksWithTheRanksOfANodeInOneProcess() {
        Cluster.processes(4).ranksPerProcess(2).nodes(2).run(S1.class, 1).assertAllSucceeded();
    }

    @Tag("stress")
    @Test
    void worksTwoHundredTimesInOneSetOfProcesses() {
        Cluster.processes(4)
                .nodes(2)
                .optimized()
                .deadline(1800)
                .run(S1.class, 200)
                .assertAllSucceeded();
    }

    @Tag("stress")
    @RepeatedTest(30)
    void worksThirtyTimesInFreshProcesses() {
        Cluster.processes(4).nodes(2).optimized().once().run(S1.class, 1).assertAllSucceeded();
    }
}
