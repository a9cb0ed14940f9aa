package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.RunningCluster;
import org.jccl.harness.Scenario;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.time.Duration;
import java.util.List;

/** All ranks are stopped at once, as if their machine had been suspended. */
final class SuspendedTest {
    private static final int LIMIT_S = 4;

    static List<Cluster> pairs() {
        return List.of(Cluster.processes(2), Cluster.processes(2).nodes(2));
    }

    /** Rank 0 waits in an all-reduce, rank 1 comes when the test lets it. */
    public static final class WaitsWithALimit implements Scenario {
        @Override
        public void run(Rank rank) {
            Config config = Config.DEFAULT.withTimeout(Duration.ofSeconds(LIMIT_S));
            try (Communicator comm = rank.init(config)) {
                Sums.barrier(comm);
                rank.say("ready");
                if (rank.number() == 1) {
                    rank.await("go");
                }
                Sums.allReduce(comm, 10);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void timeInWhichEverybodyWasStoppedCountsForNoLimit(Cluster cluster)
            throws InterruptedException {
        try (RunningCluster running = cluster.start(WaitsWithALimit.class)) {
            running.awaitAllSaid("ready");
            Thread.sleep(200);
            running.stop(0);
            running.stop(1);
            Thread.sleep(1000 * LIMIT_S + 500);
            running.cont(0);
            running.cont(1);
            Thread.sleep(300);
            running.post("go", "");
            running.await().assertAllSucceeded();
        }
    }

    /** The peer's system answers that there is no room; that is an answer, too. */
    @Test
    void stoppedPeerWhoseWindowIsFullIsLateNotLost() throws InterruptedException {
        Cluster cluster = Cluster.processes(2).nodes(2).environment("JCCL_HOST_LOST", "1");
        try (RunningCluster running = cluster.start(FailureTest.TwoRounds.class)) {
            running.awaitAllSaid("first");
            running.stop(1);
            running.post("go", "");
            Thread.sleep(5000);
            running.cont(1);
            running.await().assertAllSucceeded();
        }
    }
}
