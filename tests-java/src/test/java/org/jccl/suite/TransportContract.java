package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.Communicator;
import org.jccl.Group;
import org.jccl.Statistics;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** The contract of every transport, whatever ranks are at its two ends. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class TransportContract {
    private static final int[] COUNTS = {0, 1, 2, 127, 128, 129, 4096, 65_537, 1 << 20};

    /** Clusters whose ranks are joined by this transport. */
    abstract List<Cluster> clusters();

    /** Whether bytes must cross shared memory, and whether they must cross TCP. */
    abstract boolean crossesSharedMemory();

    abstract boolean crossesNet();

    /** Small and large collectives in a random order that all ranks share. */
    public static final class AnyOrder implements Scenario {
        @Override
        public void run(Rank rank) {
            Random random = new Random(7);
            try (Communicator comm = rank.init()) {
                for (int i = 0; i < 300; i++) {
                    int count = COUNTS[random.nextInt(COUNTS.length - (i % 20 == 0 ? 0 : 2))];
                    if (random.nextBoolean()) {
                        Sums.allReduce(comm, count);
                    } else {
                        Sums.allGather(comm, count);
                    }
                }
            }
        }
    }

    /** Messages keep their order and their lengths, also those of no length. */
    public static final class InOrder implements Scenario {
        @Override
        public void run(Rank rank) {
            int n = rank.nRanks();
            int next = (rank.number() + 1) % n;
            int previous = (rank.number() + n - 1) % n;
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                MemorySegment[] in = new MemorySegment[COUNTS.length];
                Group.run(
                        () -> {
                            for (int i = 0; i < COUNTS.length; i++) {
                                int count = COUNTS[i];
                                in[i] = arena.allocate(4L * count + 4, 4);
                                comm.recv(in[i], count, DataType.INT32, previous);
                            }
                            for (int i = 0; i < COUNTS.length; i++) {
                                int[] content = new int[COUNTS[i] + 1];
                                Arrays.fill(content, rank.number() * 1000 + i);
                                MemorySegment out = Sums.holding(arena, content);
                                comm.send(out, COUNTS[i], DataType.INT32, next);
                            }
                        });
                for (int i = 0; i < COUNTS.length; i++) {
                    int[] expected = new int[COUNTS[i] + 1];
                    Arrays.fill(expected, 0, COUNTS[i], previous * 1000 + i);
                    assertArrayEquals(expected, Sums.ints(in[i], COUNTS[i] + 1));
                }
            }
        }
    }

    /** A broadcast from every root, so that data flows every way. */
    public static final class EveryRoot implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                for (int count : COUNTS) {
                    MemorySegment data = arena.allocate(4L * count, 4);
                    for (int root = 0; root < rank.nRanks(); root++) {
                        if (root == rank.number()) {
                            data.copyFrom(Sums.filled(arena, 100 + root, count));
                        }
                        comm.broadcast(data, data, count, DataType.INT32, root);
                        MemorySegment expected = Sums.filled(arena, 100 + root, count);
                        Sums.require(data.mismatch(expected) < 0, "wrong data of root " + root);
                    }
                }
            }
        }
    }

    /** Says by what paths its bytes went. */
    public static final class SaysItsPaths implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init()) {
                Sums.allReduce(comm, 1 << 18);
                Sums.allGather(comm, 100);
                Statistics stats = comm.stats();
                rank.say(
                        "shared memory "
                                + (stats.sharedMemoryBytes() > 0)
                                + ", net "
                                + (stats.netBytes() > 0));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void carriesSmallAndLargeInAnyOrder(Cluster cluster) {
        cluster.run(AnyOrder.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void keepsTheOrderOfMessages(Cluster cluster) {
        cluster.run(InOrder.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void carriesFromEveryRankToEveryRank(Cluster cluster) {
        cluster.run(EveryRoot.class).assertAllSucceeded();
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void isTheOneThatCarriesTheBytes(Cluster cluster) {
        List<String> said = cluster.run(SaysItsPaths.class).assertAllSucceeded().rank(0).said();
        String expected = "shared memory " + crossesSharedMemory() + ", net " + crossesNet();
        assertEquals(List.of(expected), said);
    }
}
