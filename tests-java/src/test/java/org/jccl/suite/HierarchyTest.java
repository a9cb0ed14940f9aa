package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * Calls that are hierarchical, large ones and short all-reduces, on nodes of equal and unequal
 * size.
 */
final class HierarchyTest {
    private static final int LATE = 5;
    private static final int SEED = 18;
    private static final int SIZE = 65537;

    /** Eleven chunks of four bytes each. */
    private static final int LONG = 700_001;

    private static final String ALL = "0/1";

    @Test
    void agreesWithTheOracleNodeByNode() {
        run(Cluster.threads(4).nodes(2), 2, SIZE, "0/8");
        run(Cluster.threads(5).nodes(2), 2, SIZE, "1/8");
        run(Cluster.threads(7).nodes(3), 3, SIZE, "2/8");
        run(Cluster.processes(4).ranksPerProcess(2).nodes(2), 2, SIZE, "3/8");
    }

    /** Short all-reduces have few owners, from one on. */
    @ParameterizedTest
    @ValueSource(ints = {1, 1000, 20_000})
    void shortOnesAgreeWithTheOracleNodeByNode(int size) {
        run(Cluster.threads(8).nodes(2), 2, size, "0/8");
        run(Cluster.threads(7).nodes(3), 3, size, "1/8");
        run(Cluster.processes(6).ranksPerProcess(2).nodes(3), 3, size, "2/8");
    }

    @Test
    void usesItsSlotsAgain() {
        run(Cluster.threads(4).nodes(2), 2, LONG, "0/2");
        run(Cluster.threads(5).nodes(2), 2, LONG, "1/2");
    }

    @Tag("stress")
    @ParameterizedTest
    @ValueSource(ints = {SIZE, LONG})
    void everyCellAgreesNodeByNode(int size) {
        run(Cluster.threads(4).nodes(2), 2, size, ALL);
        run(Cluster.threads(5).nodes(2), 2, size, ALL);
        run(Cluster.threads(7).nodes(3), 3, size, ALL);
        run(Cluster.processes(4).ranksPerProcess(2).nodes(2), 2, size, ALL);
        Cluster cluster = Cluster.processes(4).nodes(2);
        run(cluster.environment("JCCL_DETERMINISTIC", "rank"), 1, size, ALL);
    }

    /** Also by the ranks with which the late one exchanges nothing; and nobody else is named. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void everyRankNamesTheLateOne(int namedBy) {
        Cluster.threads(6).nodes(2).runHere(rank -> oneIsLate(rank, namedBy)).assertAllSucceeded();
    }

    /** Only one rank has a time limit, so that the sentence is its own. */
    private static void oneIsLate(Rank rank, int namedBy) {
        Config limited = Config.DEFAULT.withTimeout(Duration.ofSeconds(1));
        try (var comm = rank.init(rank.number() == namedBy ? limited : Config.DEFAULT);
                Arena arena = Arena.ofConfined()) {
            long count = 100_000;
            MemorySegment data = arena.allocate(4 * count);
            comm.allReduce(data, data, count, DataType.FLOAT32, RedOp.SUM);
            if (rank.number() != LATE) {
                NcclException late =
                        assertThrows(
                                NcclException.class,
                                () ->
                                        comm.allReduce(
                                                data, data, count, DataType.FLOAT32, RedOp.SUM));
                String sentence = String.valueOf(late.getMessage());
                assertTrue(sentence.contains(" for rank " + LATE + ","), sentence);
                if (rank.number() == namedBy) {
                    assertTrue(sentence.contains("rank " + namedBy + " has waited"), sentence);
                }
                rank.post("named" + rank.number(), "");
            }
            // Who hears of an abort before the limit of another rank blames the abort.
            for (int other = 0; other < LATE; other++) {
                rank.await("named" + other);
            }
            comm.abort();
        }
    }

    /** A sum of a node would be infinite. */
    @Test
    void averagesOfLargeFloat16AreFinite() {
        Cluster.threads(4)
                .nodes(2)
                .runHere(
                        rank -> {
                            try (var comm = rank.init();
                                    Arena arena = Arena.ofConfined()) {
                                long count = 20_000;
                                MemorySegment data = arena.allocate(2 * count);
                                short large = Float.floatToFloat16(60000);
                                for (int i = 0; i < count; i++) {
                                    data.setAtIndex(ValueLayout.JAVA_SHORT, i, large);
                                }
                                comm.allReduce(data, data, count, DataType.FLOAT16, RedOp.AVG);
                                for (int i = 0; i < count; i++) {
                                    assertEquals(large, data.getAtIndex(ValueLayout.JAVA_SHORT, i));
                                }
                            }
                        })
                .assertAllSucceeded();
    }

    @Test
    void keepsRankOrderIfToldTo() {
        Cluster cluster = Cluster.processes(4).nodes(2);
        run(cluster.environment("JCCL_DETERMINISTIC", "rank"), 1, SIZE, "4/8");
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
            } catch (NcclException e) {
                String sentence = e.getMessage();
                String expected =
                        "rank 0 has JCCL_DETERMINISTIC=rank, rank 1 has JCCL_DETERMINISTIC=node";
                assertTrue(sentence.contains(expected), sentence);
            }
        }
    }

    /** Runs a part of the cells: other ranks run the others, and MatrixTest all of them. */
    private static void run(Cluster cluster, int nodes, int size, String part) {
        cluster.run(MatrixScenario.class, SEED, 0, 0, nodes, size, -1, part, false)
                .assertAllSucceeded()
                .assertAllSaidTheSame();
    }
}
