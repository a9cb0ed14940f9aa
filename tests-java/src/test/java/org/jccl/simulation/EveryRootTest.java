package org.jccl.simulation;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

@Tag("stress")
final class EveryRootTest {
    /** Calls in one simulation, which keeps the schedules of them all. */
    private static final int MOST_CALLS = 500;

    static IntStream ranks() {
        return EveryAlgorithmTest.ranks();
    }

    @ParameterizedTest
    @MethodSource("ranks")
    void everyAlgorithmIsExactForIt(int nRanks) {
        long seed = System.nanoTime();
        int elementBytes = nRanks <= 8 ? 1 << nRanks % 4 : 8;
        for (Wiring wiring : Wiring.various(nRanks)) {
            Matrix matrix = Matrix.of(nRanks, elementBytes, nRanks + 1, 4);
            matrix = matrix.on(wiring.nodes(nRanks)).readable();
            List<Matrix.Case> cases = matrix.cases(6, matrix.everyRoot());
            Collections.shuffle(cases, new Random(seed));
            for (int from = 0; from < cases.size(); from += MOST_CALLS) {
                int end = Math.min(cases.size(), from + MOST_CALLS);
                matrix.simulation(cases.subList(from, end), wiring, seed)
                        .run(Interleaving.random(seed));
            }
        }
    }
}
