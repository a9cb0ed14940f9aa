package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Messages around the sizes at which they change their place beside the call word. */
final class TinyMessagesTest {
    private static final int[] SIZES = {
        1, 7, 8, 9, 55, 56, 57, 63, 64, 65, 511, 512, 513, 2047, 2048, 2049
    };
    private static final int CALLS = 4;

    static List<Cluster> clusters() {
        return List.of(Cluster.threads(3), Cluster.threads(3).nodes(2), Cluster.processes(2));
    }

    /** Every operation at every size, several times with other bytes. */
    public static final class Calls implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Arena arena = Arena.ofConfined()) {
                for (int size : SIZES) {
                    MemorySegment in = arena.allocate((long) size * comm.count());
                    MemorySegment out = arena.allocate((long) size * comm.count());
                    for (int call = 0; call < CALLS; call++) {
                        each(comm, in, out, size, call);
                    }
                }
            }
        }
    }

    private static void each(
            Communicator comm, MemorySegment in, MemorySegment out, int size, int call) {
        int ranks = comm.count();
        int rank = comm.rank();
        fill(in, rank, call);
        comm.allReduce(in, out, size, DataType.UINT8, RedOp.SUM);
        for (int i = 0; i < size; i++) {
            require(out, i, sum(ranks, call, i), "all-reduce", size);
        }
        comm.allGather(in, out, size, DataType.UINT8);
        for (int q = 0; q < ranks; q++) {
            for (int i = 0; i < size; i++) {
                require(out, q * size + i, value(q, call, i), "all-gather", size);
            }
        }
        comm.reduceScatter(in, out, size, DataType.UINT8, RedOp.SUM);
        for (int i = 0; i < size; i++) {
            require(out, i, sum(ranks, call, rank * size + i), "reduce-scatter", size);
        }
        int root = call % ranks;
        comm.broadcast(in, out, size, DataType.UINT8, root);
        for (int i = 0; i < size; i++) {
            require(out, i, value(root, call, i), "broadcast", size);
        }
    }

    private static byte value(int rank, int call, int i) {
        return (byte) (31 * rank + 7 * call + i);
    }

    private static byte sum(int ranks, int call, int i) {
        int sum = 0;
        for (int q = 0; q < ranks; q++) {
            sum += value(q, call, i);
        }
        return (byte) sum;
    }

    private static void fill(MemorySegment data, int rank, int call) {
        for (int i = 0; i < data.byteSize(); i++) {
            data.set(ValueLayout.JAVA_BYTE, i, value(rank, call, i));
        }
    }

    private static void require(MemorySegment out, int i, byte expected, String what, int size) {
        byte found = out.get(ValueLayout.JAVA_BYTE, i);
        Sums.require(
                found == expected,
                what + " of " + size + " bytes: byte " + i + " is " + found + ", not " + expected);
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void areWholeWhateverTheirSize(Cluster cluster) {
        cluster.run(Calls.class).assertAllSucceeded();
    }
}
