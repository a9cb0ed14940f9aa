package org.jccl.simulation;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** Messages between ranks, by the schedules that are compiled for lanes. */
final class TransfersTest {
    private static final int ELEMENT_BYTES = 8;
    private static final int MOST_RANKS = 33;

    /** With so many, every rank sends to every other. */
    private static final int FEW_RANKS = 6;

    static IntStream ranks() {
        return IntStream.rangeClosed(2, MOST_RANKS);
    }

    @ParameterizedTest
    @MethodSource("ranks")
    void messagesOfEverySizeFollowEachOtherBothWays(int nRanks) {
        List<Wiring> wirings = Wiring.various(nRanks);
        for (Wiring wiring : nRanks <= FEW_RANKS ? wirings : List.of(wirings.get(nRanks % 4))) {
            run(nRanks, wiring, Interleaving.random(nRanks));
        }
    }

    @Test
    void messagesArriveWhoeverIsLate() {
        for (int nRanks : new int[] {2, 3, 5}) {
            for (Wiring wiring : Wiring.various(nRanks)) {
                run(nRanks, wiring, Interleaving.late(0));
                run(nRanks, wiring, Interleaving.late(nRanks - 1));
                run(nRanks, wiring, Interleaving.lateWires());
                run(nRanks, wiring, Interleaving.roundRobin());
                run(nRanks, wiring, Interleaving.bursts(nRanks));
            }
        }
    }

    /** Two groups of messages, of which those of a pair follow each other in any order of sizes. */
    private static void run(int nRanks, Wiring wiring, Interleaving interleaving) {
        Matrix matrix = Matrix.of(nRanks, ELEMENT_BYTES, nRanks, 4);
        var simulation = new Simulation(nRanks, matrix.limits(), ELEMENT_BYTES, wiring);
        long chunk = matrix.limits().chunkBytes() / ELEMENT_BYTES;
        long[] counts = {0, 1, chunk - 1, chunk, chunk + 1, 17 * chunk, 17 * chunk + 3};
        for (int group = 1; group <= 2; group++) {
            List<Transfer> transfers = new ArrayList<>();
            for (int from = 0; from < nRanks; from++) {
                for (int to = 0; to < nRanks; to++) {
                    if (from != to && (nRanks <= FEW_RANKS || areNear(from, to, nRanks))) {
                        for (long count : counts) {
                            transfers.add(new Transfer(from, to, count));
                        }
                    }
                }
            }
            Collections.shuffle(transfers, new Random((long) group * nRanks));
            simulation.transfers(transfers.toArray(Transfer[]::new));
        }
        simulation.run(interleaving);
    }

    private static boolean areNear(int from, int to, int nRanks) {
        int distance = Math.abs(from - to);
        return distance == 1 || distance == nRanks / 2 || distance == nRanks - 1;
    }
}
