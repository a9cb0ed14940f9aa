package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.oracle.Oracle;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jccl.type.PreMulSum;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Sums of what each rank multiplies by a factor of its own first. */
final class PreMulSumTest {
    private static final int[] COUNTS = {1, 3, 1029, 20_011};
    private static final int ROOT = 1;

    static List<Cluster> clusters() {
        return List.of(
                Cluster.threads(3),
                Cluster.processes(2),
                Cluster.processes(3).environment("NCCL_SHM_DISABLE", "1"));
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void agreesWithTheOracle(Cluster cluster) {
        cluster.run(EveryType.class).assertAllSucceeded();
    }

    /** Every type, operation and size, in place and not. */
    public static final class EveryType implements Scenario {
        private static final Operation[] OPERATIONS = {
            Operation.ALL_REDUCE, Operation.REDUCE, Operation.REDUCE_SCATTER
        };

        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init()) {
                int seed = 0;
                for (DataType type : DataType.values()) {
                    for (int count : COUNTS) {
                        for (Operation operation : OPERATIONS) {
                            each(comm, operation, type, count, seed++);
                        }
                    }
                }
            }
        }

        private static void each(
                Communicator comm, Operation operation, DataType type, int count, int seed) {
            int n = comm.count();
            int me = comm.rank();
            int part = count * type.sizeBytes();
            boolean scatters = operation == Operation.REDUCE_SCATTER;
            byte[] input = input(type, scatters ? count * n : count, seed, me);
            byte[] expected = sum(type, input.length / type.sizeBytes(), seed, n);
            expected =
                    scatters ? Arrays.copyOfRange(expected, me * part, me * part + part) : expected;
            boolean receives = operation != Operation.REDUCE || me == ROOT;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment in = arena.allocate(input.length + 1).asSlice(1);
                MemorySegment out = arena.allocate(part, 64);
                in.copyFrom(MemorySegment.ofArray(input));
                // In place on some ranks and not on others.
                boolean inPlace = (seed + me) % 2 == 0;
                MemorySegment to =
                        !inPlace ? out : scatters ? in.asSlice((long) me * part, part) : in;
                call(comm, operation, in, to, type, count, factor(type, seed, me));
                if (receives) {
                    byte[] found = to.toArray(ValueLayout.JAVA_BYTE);
                    String difference = Oracle.difference(type, expected, found);
                    assertTrue(difference == null, operation + " " + type + ": " + difference);
                }
                if (!inPlace || !receives) {
                    assertTrue(in.mismatch(MemorySegment.ofArray(input)) < 0, "input changed");
                }
            }
        }

        private static void call(
                Communicator comm,
                Operation operation,
                MemorySegment in,
                MemorySegment out,
                DataType type,
                int count,
                byte[] factor) {
            try (PreMulSum op = comm.preMulSum(MemorySegment.ofArray(factor), type)) {
                // Destroyed before the group is launched, as NCCL allows.
                Group.start();
                switch (operation) {
                    case ALL_REDUCE -> comm.allReduce(in, out, count, type, op);
                    case REDUCE -> comm.reduce(in, out, count, type, op, ROOT);
                    default -> comm.reduceScatter(in, out, count, type, op);
                }
            }
            Group.end();
        }

        private static byte[] input(DataType type, int count, int seed, int rank) {
            return Oracle.randomInput(type, RedOp.SUM, count, new Random(seed * 64L + rank));
        }

        private static byte[] factor(DataType type, int seed, int rank) {
            return Oracle.randomInput(type, RedOp.SUM, 1, new Random(seed * 64L + 32 + rank));
        }

        private static byte[] sum(DataType type, int count, int seed, int n) {
            byte[][] products = new byte[n][];
            for (int rank = 0; rank < n; rank++) {
                byte[] factor = factor(type, seed, rank);
                byte[] factors = new byte[count * factor.length];
                for (int i = 0; i < factors.length; i++) {
                    factors[i] = factor[i % factor.length];
                }
                byte[][] terms = {input(type, count, seed, rank), factors};
                products[rank] = Oracle.fold(type, RedOp.PROD, terms);
            }
            return Oracle.fold(type, RedOp.SUM, products);
        }
    }

    @Test
    void isRefusedWhereItIsUnknownOrOfAnotherType() {
        Cluster.threads(1).run(Refusals.class).assertAllSucceeded();
    }

    /** Destroyed, of another communicator, of another type, with half a factor. */
    public static final class Refusals implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init();
                    Communicator other = comm.split(0, 0);
                    Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(8, 8);
                MemorySegment two = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 2);
                PreMulSum op = comm.preMulSum(two, DataType.FLOAT32);
                data.set(ValueLayout.JAVA_FLOAT, 0, 5);
                comm.allReduce(data, data, 1, DataType.FLOAT32, op);
                assertEquals(10, data.get(ValueLayout.JAVA_FLOAT, 0));
                refused(ErrorKind.REDUCTION_TYPE, () -> sum(comm, data, DataType.INT32, op));
                refused(ErrorKind.REDUCTION_ENDED, () -> sum(other, data, DataType.FLOAT32, op));
                op.close();
                op.close();
                refused(ErrorKind.REDUCTION_ENDED, () -> sum(comm, data, DataType.FLOAT32, op));
                refused(
                        ErrorKind.BUFFER_TOO_SMALL,
                        () -> comm.preMulSum(two.asSlice(0, 3), DataType.FLOAT32));
            }
        }

        private static void sum(
                Communicator comm, MemorySegment data, DataType type, PreMulSum op) {
            comm.allReduce(data, data, 1, type, op);
        }

        private static void refused(ErrorKind kind, Runnable call) {
            assertEquals(kind, assertThrows(NcclException.class, call::run).kind());
        }
    }
}
