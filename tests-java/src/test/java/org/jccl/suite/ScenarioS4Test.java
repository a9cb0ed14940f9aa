package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;

/**
 * Scenario S4: several nodes of several ranks, of which each sends something else to each: by sends
 * and receives in a group, and by AlltoAll, in place too.
 */
final class ScenarioS4Test {
    private static final int KIB = 1 << 10;

    /** Arguments: bytes for each peer; how many times. */
    public static final class S4 implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                EachToEach each = new EachToEach(comm, arena, rank.intArgument(0));
                for (int time = 0; time < rank.intArgument(1); time++) {
                    each.byGroup(3 * time);
                    each.byAllToAll(3 * time + 1);
                    each.inPlace(3 * time + 2);
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {KIB, 64 * KIB})
    void eightRanksOnFourNodes(int bytes) {
        Cluster.processes(8)
                .ranksPerProcess(2)
                .nodes(4)
                .run(S4.class, bytes, 3)
                .assertAllSucceeded();
    }

    @ParameterizedTest
    @Tag("stress")
    @ValueSource(ints = {KIB, KIB * KIB})
    void thirtyTwoRanksOnFourNodes(int bytes) {
        Cluster.processes(32)
                .ranksPerProcess(8)
                .nodes(4)
                .run(S4.class, bytes, 20)
                .assertAllSucceeded();
    }
}
