package org.jccl.simulation;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** Calls of one communicator that follow each other, collectives and transfers mixed. */
final class SuccessiveCallsTest {
    @Test
    void collectivesAndTransfersMixOnOneCommunicator() {
        for (int nRanks : new int[] {2, 3, 4, 7}) {
            Matrix matrix = Matrix.of(nRanks, 4, nRanks + 1, 4);
            for (int seed = 1; seed <= 6; seed++) {
                Wiring wiring =
                        List.of(Wiring.node(), Wiring.wires(1), Wiring.nodesOf(2, 2)).get(seed % 3);
                List<Matrix.Case> cases =
                        matrix.on(wiring.nodes(nRanks)).cases(6, matrix.everyRoot());
                var simulation = new Simulation(nRanks, matrix.limits(), 4, wiring);
                Random random = new Random(seed);
                for (int i = 0; i < 60; i++) {
                    if (random.nextInt(4) == 0) {
                        simulation.transfers(shift(nRanks, random));
                    } else {
                        var chosen = cases.get(random.nextInt(cases.size()));
                        simulation.call(chosen.algorithm(), chosen.shape());
                    }
                }
                boolean even = seed % 2 == 0;
                simulation.run(even ? Interleaving.bursts(seed) : Interleaving.late(seed % nRanks));
            }
        }
    }

    @Test
    void oneAlgorithmFollowsItself() {
        int nRanks = 3;
        Matrix matrix = Matrix.of(nRanks, 8, nRanks, 4);
        List<Matrix.Case> cases = new ArrayList<>(matrix.cases(6, 1));
        cases.addAll(matrix.on(Wiring.nodesOf(2, 1).nodes(nRanks)).cases(6, 1));
        for (Matrix.Case c : cases) {
            for (Wiring wiring : List.of(Wiring.node(), Wiring.wires(1), Wiring.nodesOf(2, 1))) {
                var simulation = new Simulation(nRanks, matrix.limits(), 8, wiring);
                IntStream.range(0, 5).forEach(i -> simulation.call(c.algorithm(), c.shape()));
                simulation.run(Interleaving.bursts(c.shape().count()));
            }
        }
    }

    /** Every rank sends to the rank some way further, messages of random length. */
    private static Transfer[] shift(int nRanks, Random random) {
        int by = 1 + random.nextInt(nRanks - 1);
        Transfer[] transfers = new Transfer[nRanks];
        for (int r = 0; r < nRanks; r++) {
            transfers[r] = new Transfer(r, (r + by) % nRanks, random.nextInt(50));
        }
        return transfers;
    }
}
