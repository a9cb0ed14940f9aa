package org.jccl.suite;

import org.jccl.device.UsedDevice;
import org.jccl.harness.Cluster;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.List;

/**
 * The matrix of {@link MatrixTest} for ranks on devices. On GPUs it has every cell; there, two
 * ranks with a GPU each run kernels, and three on two GPUs go through the host. With {@code
 * -Djccl.gpus=4} there are as many ranks as GPUs, too.
 */
final class DeviceMatrixTest {
    private static final int CELLS_ON_SIMULATED = 20;
    private static final int EVERY_CELL = 0;

    /** At each alignment of the buffers. */
    private static final int CELLS_AT_EACH_ON_GPUS = 20;

    private static final int NONE_AT_EACH = -1;
    private static final int DEADLINE_S = 400;
    private static final int SEED = 7;

    /** How many GPUs this machine has, if that is known. */
    private static final int GPUS = Integer.getInteger("jccl.gpus", 0);

    static List<Cluster> clusters() {
        List<Cluster> all = new ArrayList<>();
        all.add(Cluster.threads(2));
        all.add(Cluster.processes(2));
        all.add(Cluster.threads(3));
        if (GPUS > 2) {
            all.add(Cluster.threads(GPUS));
            all.add(Cluster.processes(GPUS));
        }
        return all;
    }

    @ParameterizedTest
    @MethodSource("clusters")
    void devicesAgreeWithTheOracle(Cluster cluster) {
        int cells = UsedDevice.SIMULATED ? CELLS_ON_SIMULATED : EVERY_CELL;
        int atEach = UsedDevice.SIMULATED ? NONE_AT_EACH : CELLS_AT_EACH_ON_GPUS;
        cluster.deadline(DEADLINE_S)
                .optimized()
                .run(MatrixScenario.class, SEED, cells, 1, 1, 0, atEach, "0/1", true)
                .assertAllSucceeded()
                .assertAllSaidTheSame();
    }
}
