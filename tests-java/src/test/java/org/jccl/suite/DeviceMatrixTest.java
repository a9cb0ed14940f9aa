package org.jccl.suite;

import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;

/**
 * The matrix of {@link MatrixTest} for ranks on devices. On GPUs it has every cell; there, two
 * ranks with a GPU each run kernels, and three on two GPUs go through the host.
 */
final class DeviceMatrixTest {
    private static final int CELLS_ON_SIMULATED = 20;
    private static final int EVERY_CELL = 0;

    /** At each alignment of the buffers. */
    private static final int CELLS_AT_EACH_ON_GPUS = 20;

    private static final int NONE_AT_EACH = -1;
    private static final int DEADLINE_S = 400;
    private static final int SEED = 7;

    static List<Cluster> clusters() {
        return List.of(Cluster.threads(2), Cluster.processes(2), Cluster.threads(3));
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void devicesAgreeWithTheOracle(Cluster cluster) {
        int cells = UsedDevice.SIMULATED ? CELLS_ON_SIMULATED : EVERY_CELL;
        int atEach = UsedDevice.SIMULATED ? NONE_AT_EACH : CELLS_AT_EACH_ON_GPUS;
        cluster.deadline(DEADLINE_S)
                .optimized()
                .run(MatrixScenario.class, SEED, cells, 1, 1, 0, atEach, -1, true)
                .assertAllSucceeded()
                .assertAllSaidTheSame();
    }
}
