package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.Communicator;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.oracle.Oracle;
import org.jccl.type.CallError;
import org.jccl.type.DataType;
import org.jccl.type.NcclConfig;
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
                Cluster.threads(1).argument(0),
                Cluster.threads(3),
                Cluster.processes(2),
                Cluster.threads(3).environment("NCCL_SHM_DISABLE", "1"));
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void agreesWithTheOracle(Cluster cluster) {
        cluster.run(EveryType.class).assertAllSucceeded();
    }

    /** Every type, operation and size, in place and not. */
    public static final class EveryType implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init()) {
                for (DataType type : DataType.values()) {
                    for (int count : type.supported() ? COUNTS : new int[0]) {
                        for (boolean inPlace : new boolean[] {false, true}) {
                            allReduce(comm, type, count, inPlace);
                            reduce(comm, type, count, inPlace);
                            reduceScatter(comm, type, count, inPlace);
                        }
                    }
                }
            }
        }
    }
}
