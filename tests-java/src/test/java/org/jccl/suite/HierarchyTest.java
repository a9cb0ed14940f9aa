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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Random;

/** Calls that are large enough to be hierarchical, on nodes of equal and unequal size. */
final class HierarchyTest {
    private static final int LATE = 5;
    private static final int SEED = 18;
    private static final int SIZE = 65537;

    /** Eleven chunks of four bytes each. */
    private static final int LONG = 700_001;

    @Test
    void agreesWithTheOracleNodeByNode() {
        check(Cluster.threads(4).nodes(2), 2);
        check(Cluster.threads(5).nodes(2), 2);
        check(Cluster.threads(7).nodes(3), 3);
        check(Cluster.processes(4).ranksPerProcess(2).nodes(2), 2);
    }

    @Test
    void usesItsSlotsAgain() {
        run(Cluster.threads(4).nodes(2), 2, LONG);
        run(Cluster.threads(5).nodes(2), 2, LONG);
    }

    /** Which ranks of other nodes a rank has to hear of differs from call to call. */
    @Test
    void callsThatConcernDifferentRanksFollowEachOther() {
        for (int nodes : new int[] {2, 3}) {
            Cluster.threads(6).nodes(nodes).runHere(HierarchyTest::mixed).assertAllSucceeded();
        }
    }

    private static void mixed(Rank rank) {
        Random random = new Random(SEED);
        int n = rank.nRanks();
        long most = 100_000;
        try (var comm = rank.init();
                Arena arena = Arena.ofConfined()) {
            MemorySegment from = arena.allocate(4 * most);
            MemorySegment to = arena.allocate(4 * most * n);
            for (int i = 0; i < 300; i++) {
                int count = random.nextBoolean() ? 5 : random.nextInt(1, (int) most);
                int kind = random.nextInt(4);
                int root = random.nextInt(n);
                fill(from, count, i + rank.number());
                long ranks = n * (n - 1L) / 2 + (long) n * i;
                switch (kind) {
                    case 0 -> comm.allReduce(from, to, count, DataType.INT32, RedOp.SUM);
                    case 1 -> comm.broadcast(from, to, count, DataType.INT32, root);
                    case 2 -> comm.allGather(from, to, count, DataType.INT32);
                    default -> comm.reduce(from, to, count, DataType.INT32, RedOp.SUM, root);
                }
                long expected = kind == 0 || kind == 3 ? ranks : kind == 1 ? i + root : i;
                if (kind != 3 || rank.number() == root) {
                    assertEquals(expected, to.getAtIndex(ValueLayout.JAVA_INT, 0));
                    long last = kind == 2 ? (long) count * n - 1 : count - 1;
                    expected = kind == 2 ? i + n - 1 : expected;
                    assertEquals(expected, to.getAtIndex(ValueLayout.JAVA_INT, last));
                }
            }
        }
    }

    private static void fill(MemorySegment data, int count, int value) {
        for (int i = 0; i < count; i++) {
            data.setAtIndex(ValueLayout.JAVA_INT, i, value);
        }
    }

    /** Also by the ranks with which the late one exchanges nothing; and nobody else is named. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void everyRankNamesTheLateOne(int namedBy) {
        Cluster.threads(6).nodes(2).runHere(rank -> oneIsLate(rank, namedBy)).assertAllSucceeded();
    }

    /** Only one rank has a time limit, so that the sentence is its own. */
    private static void oneIsLate(Rank rank, int namedBy) throws InterruptedException {
        Config limited = Config.DEFAULT.withTimeout(Duration.ofSeconds(1));
        try (var comm = rank.init(rank.number() == namedBy ? limited : Config.DEFAULT);
                Arena arena = Arena.ofConfined()) {
            long count = 100_000;
            MemorySegment data = arena.allocate(4 * count);
            comm.allReduce(data, data, count, DataType.FLOAT32, RedOp.SUM);
            if (rank.number() == LATE) {
                rank.await("named");
                comm.abort();
                return;
            }
            NcclException late =
                    assertThrows(
                            NcclException.class,
                            () -> comm.allReduce(data, data, count, DataType.FLOAT32, RedOp.SUM));
            String sentence = String.valueOf(late.getMessage());
            assertTrue(sentence.contains(" for rank " + LATE + ","), sentence);
            if (rank.number() == namedBy) {
                assertTrue(sentence.contains("rank " + namedBy + " has waited"), sentence);
                rank.post("named", "");
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
            } catch (NcclException e) {
                String sentence = e.getMessage();
                String expected =
                        "rank 0 has JCCL_DETERMINISTIC=rank, rank 1 has JCCL_DETERMINISTIC=node";
                assertTrue(sentence.contains(expected), sentence);
            }
        }
    }

    private static void check(Cluster cluster, int nodes) {
        run(cluster, nodes, SIZE);
    }

    private static void run(Cluster cluster, int nodes, int size) {
        cluster.run(MatrixScenario.class, SEED, 0, 0, nodes, size, -1)
                .assertAllSucceeded()
                .assertAllSaidTheSame();
    }
}
