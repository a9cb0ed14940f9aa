package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/**
 * Calls of all operations and sizes follow each other on one communicator, while each rank is late
 * now and then: which ranks of other nodes a rank has to hear of differs from call to call.
 */
final class MixedCallsTest {
    private static final int CALLS = 400;
    private static final int SEED = 24;
    private static final DataType TYPE = DataType.INT32;

    /** Nothing; in the line of a call's word, and in a slot of its own; larger ones. */
    private static final int[] COUNTS = {0, 1, 5, 40, 300, 1000, 5000, 20_000};

    private static final int MOST = 20_000;

    private static final List<Operation> OPERATIONS =
            List.of(
                    Operation.ALL_REDUCE,
                    Operation.REDUCE,
                    Operation.REDUCE_SCATTER,
                    Operation.BROADCAST,
                    Operation.ALL_GATHER,
                    Operation.GATHER,
                    Operation.SCATTER,
                    Operation.ALL_TO_ALL);

    /** A call that all ranks make. */
    private record Mixed(int number, Operation operation, int count, int root) {
        void make(Communicator comm, MemorySegment in, MemorySegment out) {
            switch (operation) {
                case ALL_REDUCE -> comm.allReduce(in, out, count, TYPE, RedOp.SUM);
                case REDUCE -> comm.reduce(in, out, count, TYPE, RedOp.SUM, root);
                case REDUCE_SCATTER -> comm.reduceScatter(in, out, count, TYPE, RedOp.SUM);
                case BROADCAST -> comm.broadcast(in, out, count, TYPE, root);
                case ALL_GATHER -> comm.allGather(in, out, count, TYPE);
                case GATHER -> comm.gather(in, out, count, TYPE, root);
                case SCATTER -> comm.scatter(in, out, count, TYPE, root);
                default -> comm.allToAll(in, out, count, TYPE);
            }
        }

        /** How many elements rank {@code me} of so many gets; as NCCL's manual has it. */
        int results(int me, int ranks) {
            return switch (operation) {
                case REDUCE -> me == root ? count : 0;
                case GATHER -> me == root ? ranks * count : 0;
                case ALL_GATHER, ALL_TO_ALL -> ranks * count;
                default -> count;
            };
        }

        /** Element {@code i} of what a rank gives. */
        int given(int rank, int i) {
            return number * 7919 + rank * 104_729 + i * 3;
        }

        /** Element {@code i} of what rank {@code me} of so many gets. */
        int expected(int me, int ranks, int i) {
            return switch (operation) {
                case ALL_REDUCE, REDUCE -> sum(ranks, i);
                case REDUCE_SCATTER -> sum(ranks, me * count + i);
                case BROADCAST -> given(root, i);
                case ALL_GATHER, GATHER -> given(i / count, i % count);
                case SCATTER -> given(root, me * count + i);
                default -> given(i / count, me * count + i % count);
            };
        }

        private int sum(int ranks, int i) {
            int sum = 0;
            for (int rank = 0; rank < ranks; rank++) {
                sum += given(rank, i);
            }
            return sum;
        }
    }

    @ParameterizedTest
    @CsvSource({"4, 1", "6, 2", "6, 3", "3, 3"})
    void followEachOther(int nRanks, int nodes) {
        Cluster.threads(nRanks).nodes(nodes).runHere(MixedCallsTest::run).assertAllSucceeded();
    }

    private static void run(Rank rank) {
        Random common = new Random(SEED);
        Random own = new Random(SEED + 1 + rank.number());
        int n = rank.nRanks();
        try (Communicator comm = rank.init();
                Arena arena = Arena.ofConfined()) {
            MemorySegment in = arena.allocate(4L * MOST * n);
            MemorySegment out = arena.allocate(4L * MOST * n);
            for (int i = 0; i < CALLS; i++) {
                Operation operation = OPERATIONS.get(common.nextInt(OPERATIONS.size()));
                int count = COUNTS[common.nextInt(COUNTS.length)];
                Mixed call = new Mixed(i, operation, count, common.nextInt(n));
                for (int k = 0; k < count * n; k++) {
                    in.setAtIndex(ValueLayout.JAVA_INT, k, call.given(rank.number(), k));
                }
                if (own.nextInt(20) == 0) {
                    // This rank is late; there is no event to wait for.
                    LockSupport.parkNanos(own.nextInt(2_000_000));
                }
                call.make(comm, in, out);
                check(call, out, rank);
            }
        }
    }

    private static void check(Mixed call, MemorySegment out, Rank rank) {
        int n = rank.nRanks();
        for (int k = 0; k < call.results(rank.number(), n); k++) {
            int found = out.getAtIndex(ValueLayout.JAVA_INT, k);
            int expected = call.expected(rank.number(), n, k);
            if (found != expected) {
                assertEquals(expected, found, call + " element " + k + " on rank " + rank.number());
            }
        }
    }
}
