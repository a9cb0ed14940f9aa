package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.junit.jupiter.api.Test;

/** Calls that are large enough to be hierarchical, on nodes of equal and unequal size. */
final class HierarchyTest {
    private static final int SEED = 18;
    private static final int SIZE = 65537;

    @Test
    void agreesWithTheOracleNodeByNode() {
        check(Cluster.threads(4).nodes(2), 2);
        check(Cluster.threads(5).nodes(2), 2);
        check(Cluster.threads(7).nodes(3), 3);
        check(Cluster.processes(4).ranksPerProcess(2).nodes(2), 2);
    }

    @Test
    void keepsRankOrderIfToldTo() {
        Cluster cluster = Cluster.processes(4).nodes(2);
        check(cluster.environment("JCCL_DETERMINISTIC", "rank"), 1);
    }

    /** Threads of one process cannot differ; an unknown word counts as the default. */
    @Test
    void ranksThatWantDifferentOrdersAreToldSo() {
        Cluster.processes(2)
                .environment(0, "JCCL_DETERMINISTIC", "rank")
                .environment(1, "JCCL_DETERMINISTIC", "always")
                .run(InitFails.class)
                .assertAllSucceeded();
    }

    /** Says why there is no communicator. */
    public static final class InitFails implements Scenario {
        @Override
        public void run(Rank rank) {
            try (var comm = rank.init()) {
                throw new AssertionError("there is " + comm);
            } catch (org.jccl.type.NcclException e) {
                String sentence = e.getMessage();
                String expected =
                        "rank 0 has JCCL_DETERMINISTIC=rank, rank 1 has JCCL_DETERMINISTIC=node";
                assertTrue(sentence.contains(expected), sentence);
            }
        }
    }

    private static void check(Cluster cluster, int nodes) {
        cluster.run(MatrixScenario.class, SEED, 0, 0, nodes, SIZE)
                .assertAllSucceeded()
                .assertAllSaidTheSame();
    }
}
