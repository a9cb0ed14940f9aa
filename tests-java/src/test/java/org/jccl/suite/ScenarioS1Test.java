package org.jccl.suite;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.jccl.Communicator;
import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

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
    private static final int ROUNDS = 3;
    private static final int STRESS_ROUNDS = 8;

    /** One rank of the scenario. Arguments: how often, and how many rounds of all-gathers. */
    public static final class S1 implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            for (int time = 0; time < rank.intArgument(0); time++) {
                Communicator world = rank.init("world " + time, InitTest.NON_BLOCKING);
                run(rank.number(), world, rank.intArgument(1));
            }
        }

        private static void run(int me, Communicator world, int rounds) throws Exception {
            world.awaitReady(InitTest.SOON);
            NonBlocking.allReduce(world, 1);
            Communicator rail = child(world, me % 2, me);
            NonBlocking.allReduce(world, 1);
            Communicator node = child(world, me / 2, me);
            NonBlocking.allReduce(world, 1);
            List<Communicator> comms = List.of(world, rail, node);
            List<FutureTask<Boolean>> gathers =
                    comms.stream()
                            .map(comm -> new FutureTask<>(() -> gather(comm, rounds)))
                            .toList();
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

        private static Boolean gather(Communicator comm, int rounds) {
            for (int round = 0; round < rounds; round++) {
                for (int count : COUNTS) {
                    NonBlocking.allGather(comm, count);
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

    @RepeatedTest(2)
    void allGathersOfForeignThreadsOnRailsAndNodes() {
        Cluster.processes(4).nodes(2).run(S1.class, 1, ROUNDS).assertAllSucceeded();
    }

    @Test
    void worksWithTheRanksOfANodeInOneProcess() {
        Cluster.processes(4)
                .ranksPerProcess(2)
                .nodes(2)
                .run(S1.class, 1, ROUNDS)
                .assertAllSucceeded();
    }

    @Test
    void worksOnDevices() {
        onDevices().run(S1.class, 1, ROUNDS).assertAllSucceeded();
    }

    @Test
    void worksWithTwoRanksOfADeviceInOneProcess() {
        assumeTrue(
                UsedDevice.SIMULATED,
                "on a GPU their streams soon share a queue, and may wait for each other for ever");
        onDevices().ranksPerProcess(2).run(S1.class, 1, ROUNDS).assertAllSucceeded();
    }

    private static Cluster onDevices() {
        return Cluster.processes(4).nodes(2).onDevices();
    }

    @Tag("stress")
    @Test
    void worksTwoHundredTimesInOneSetOfProcesses() {
        Cluster.processes(4)
                .nodes(2)
                .optimized()
                .deadline(1800)
                .run(S1.class, 200, STRESS_ROUNDS)
                .assertAllSucceeded();
    }

    @Tag("stress")
    @RepeatedTest(30)
    void worksThirtyTimesInFreshProcesses() {
        Cluster.processes(4)
                .nodes(2)
                .optimized()
                .once()
                .run(S1.class, 1, STRESS_ROUNDS)
                .assertAllSucceeded();
    }
}
