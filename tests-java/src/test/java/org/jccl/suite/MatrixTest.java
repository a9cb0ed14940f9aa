package org.jccl.suite;

import org.jccl.harness.Cluster;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.Arguments;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * The matrix: every operation, type and reduction, sizes, in and out of place, numbers of ranks,
 * places and transports, bit for bit against the oracle. {@code JCCL_TEST_SEED} repeats a run.
 */
final class MatrixTest {
    private static final int[] RANKS = {1, 2, 3, 4, 7, 8};
    private static final int SMALL_NUMBERS = 4;
    private static final int SAMPLED_CELLS = 10;

    /** More of them at each alignment of the buffers. */
    private static final int SAMPLED_AT_EACH = 1;

    private static final int STRESS_DEADLINE_S = 1200;

    /** With so many the buffers have every alignment. */
    private static final int ALIGNED_RANKS = 4;

    /** Ways to place n ranks so that a certain transport, or several, carry their data. */
    enum Carrier {
        THREADS,
        THREADS_TCP,
        THREADS_MIXED,
        PROCESSES,
        PROCESSES_TCP,
        MIXED,
        NAMESPACES;

        Cluster cluster(int nRanks) {
            return switch (this) {
                case THREADS -> Cluster.threads(nRanks);
                case THREADS_TCP -> Cluster.threads(nRanks).nodes(nRanks);
                case THREADS_MIXED -> Cluster.threads(nRanks).nodes(Math.min(2, nRanks));
                case PROCESSES -> Cluster.processes(nRanks);
                case PROCESSES_TCP -> overTcp(Cluster.processes(nRanks));
                case MIXED -> mixed(nRanks);
                case NAMESPACES -> Cluster.namespaces(nRanks);
            };
        }

        /** On how many nodes the ranks are, equally many on each that follow each other. */
        int nodes(int nRanks) {
            return switch (this) {
                case THREADS, PROCESSES -> 1;
                case THREADS_TCP, PROCESSES_TCP -> nRanks;
                case THREADS_MIXED, MIXED, NAMESPACES -> Math.min(2, nRanks);
            };
        }

        private static Cluster overTcp(Cluster cluster) {
            return cluster.environment("NCCL_SHM_DISABLE", "1")
                    .environment("NCCL_P2P_DISABLE", "1");
        }

        /** Two threads a process, two nodes: threads, shared memory and TCP at once. */
        private static Cluster mixed(int nRanks) {
            Cluster cluster = Cluster.processes(nRanks);
            return (nRanks > 3 ? cluster.ranksPerProcess(2) : cluster).nodes(Math.min(2, nRanks));
        }
    }

    @Test
    void sampledCellsAgreeWithTheOracle() {
        long seed = seed();
        Random random = new Random(seed);
        // Each number comes once, one of the small ones twice: all seeds take as long.
        List<Integer> ranks = new ArrayList<>(IntStream.of(RANKS).boxed().toList());
        ranks.add(RANKS[random.nextInt(SMALL_NUMBERS)]);
        Collections.shuffle(ranks, random);
        // They take turns: a large cell costs as much as all the others.
        boolean large = random.nextBoolean();
        for (Carrier carrier : Carrier.values()) {
            int nRanks = ranks.removeLast();
            Cluster cluster = carrier.cluster(nRanks);
            int nodes = carrier.nodes(nRanks);
            check(cluster, seed, SAMPLED_CELLS, large ? 1 : 0, nodes, SAMPLED_AT_EACH);
            large = !large;
        }
    }

    /** All cells, with so many ranks in such places. */
    static void everyCell(Carrier carrier, int nRanks) {
        Cluster cluster = carrier.cluster(nRanks).deadline(STRESS_DEADLINE_S);
        int atEach = nRanks == ALIGNED_RANKS ? 0 : -1;
        check(cluster, seed(), 0, 0, carrier.nodes(nRanks), atEach);
    }

    /** Every number of ranks in each of these places. */
    static List<Arguments> clusters(Set<Carrier> carriers) {
        List<Arguments> clusters = new ArrayList<>();
        for (Carrier carrier : carriers) {
            for (int nRanks : RANKS) {
                clusters.add(Arguments.of(carrier, nRanks));
            }
        }
        return clusters;
    }

    private static void check(
            Cluster cluster, long seed, int cells, int large, int nodes, int atEach) {
        System.out.println("matrix on " + cluster + ", JCCL_TEST_SEED=" + seed);
        cluster.optimized()
                .run(MatrixScenario.class, seed, cells, large, nodes, 0, atEach, "0/1", false)
                .assertAllSucceeded()
                .assertAllSaidTheSame();
    }

    private static long seed() {
        String given = System.getenv("JCCL_TEST_SEED");
        return given != null ? Long.parseLong(given) : System.nanoTime() & 0xFFFF_FFFFL;
    }
}
