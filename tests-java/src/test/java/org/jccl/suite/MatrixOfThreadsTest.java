package org.jccl.suite;

import org.jccl.suite.MatrixTest.Carrier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.EnumSet;
import java.util.List;

/** The whole matrix of {@link MatrixTest} for ranks of one process. */
@Tag("stress")
final class MatrixOfThreadsTest {
    static final EnumSet<Carrier> CARRIERS =
            EnumSet.of(Carrier.THREADS, Carrier.THREADS_TCP, Carrier.THREADS_MIXED);

    @ParameterizedTest
    @MethodSource("clusters")
    void everyCellAgreesWithTheOracle(Carrier carrier, int nRanks) {
        MatrixTest.everyCell(carrier, nRanks);
    }

    static List<Arguments> clusters() {
        return MatrixTest.clusters(CARRIERS);
    }
}
