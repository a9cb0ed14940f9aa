package org.jccl.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.collective.Algorithm;
import org.jccl.collective.Algorithms;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Step;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

final class EveryAlgorithmTest {
    private static final int MOST_RANKS = 33;

    static IntStream ranks() {
        return IntStream.rangeClosed(1, MOST_RANKS);
    }

    /** All small numbers, and of the others some that meet each wiring. */
    static IntStream someRanks() {
        return ranks().filter(n -> n <= 6 || List.of(8, 9, 16, MOST_RANKS).contains(n));
    }

    static IntStream otherRanks() {
        Set<Integer> some = someRanks().boxed().collect(Collectors.toSet());
        return ranks().filter(n -> !some.contains(n));
    }

    @ParameterizedTest
    @MethodSource("someRanks")
    void isExactInTheOrderThatItDeclares(int nRanks) {
        check(nRanks);
    }

    @Tag("stress")
    @ParameterizedTest
    @MethodSource("otherRanks")
    void isExactInTheOrderThatItDeclaresWithAnyNumber(int nRanks) {
        check(nRanks);
    }

    private static void check(int nRanks) {
        boolean few = nRanks <= 8;
        int elementBytes = few ? 4 : 8;
        Matrix all = Matrix.of(nRanks, elementBytes, few ? 2 * nRanks + 1 : nRanks + 1, 4);
        // The first rank where their number is even, else the last.
        int end = nRanks % 2 * (nRanks - 1);
        int[] roots = nRanks <= 4 ? all.everyRoot() : new int[] {end, nRanks / 2};
        List<Wiring> wirings =
                List.of(
                        Wiring.node(),
                        Wiring.unequal(2),
                        Wiring.wires(1),
                        Wiring.nodesOf((nRanks + 1) / 2, 3),
                        Wiring.inTurn(2 + nRanks % 5, 1));
        for (int i = 0; i < wirings.size(); i++) {
            if (few || i == nRanks % wirings.size()) {
                Matrix matrix = all.on(wirings.get(i).nodes(nRanks)).readable();
                List<Matrix.Case> cases = matrix.cases(few ? 9 : 5, roots);
                matrix.simulation(cases, wirings.get(i), nRanks).run(Interleaving.random(nRanks));
            }
        }
    }

    /** The ranks of a node may not share memory, and ranks of different nodes may share it. */
    @ParameterizedTest
    @ValueSource(ints = {3, 5})
    void isExactWhateverLiesBetweenTheRanks(int nRanks) {
        checkBetween(nRanks);
    }

    @Tag("stress")
    @ParameterizedTest
    @ValueSource(ints = {4, 8})
    void isExactWhateverLiesBetweenMoreRanks(int nRanks) {
        checkBetween(nRanks);
    }

    private static void checkBetween(int nRanks) {
        Matrix all = Matrix.of(nRanks, 8, 2 * nRanks + 1, 4);
        for (Wiring nodes : List.of(Wiring.unequal(1), Wiring.nodesOf(2, 1), Wiring.inTurn(2, 1))) {
            Matrix matrix = all.on(nodes.nodes(nRanks));
            List<Matrix.Case> cases = matrix.cases(9, 0, nRanks - 1);
            for (Wiring wiring : List.of(Wiring.node(), Wiring.wires(1), Wiring.inTurn(3, 2))) {
                matrix.simulation(cases, wiring, nRanks).run(Interleaving.random(nRanks));
            }
        }
    }

    @Test
    void isExactWhoeverIsLate() {
        for (int nRanks : new int[] {2, 3, 5}) {
            for (Wiring wiring : List.of(Wiring.node(), Wiring.wires(2), Wiring.nodesOf(2, 1))) {
                Matrix matrix = Matrix.of(nRanks, 8, nRanks + 1, 4).on(wiring.nodes(nRanks));
                matrix = matrix.readable();
                List<Matrix.Case> cases = matrix.cases(9, 0, nRanks - 1);
                for (Interleaving interleaving : adversaries(nRanks)) {
                    matrix.simulation(cases, wiring, nRanks).run(interleaving);
                }
            }
        }
    }

    @Test
    void isExactWithFewOrManySlots() {
        checkSlots(new int[] {1, 2, 3, 5, 6}, 2, 3);
        checkSlots(new int[] {1, 5}, 7);
    }

    @Tag("stress")
    @Test
    void isExactWithFewOrManySlotsOfMoreRanks() {
        checkSlots(new int[] {2, 3, 6}, 7);
    }

    private static void checkSlots(int[] numbersOfSlots, int... numbersOfRanks) {
        for (int slots : numbersOfSlots) {
            for (int nRanks : numbersOfRanks) {
                Matrix matrix = Matrix.of(nRanks, 2, nRanks, slots);
                Matrix node = matrix.readable();
                node.simulation(node.cases(2 * slots + 3, 0), Wiring.node(), slots)
                        .run(Interleaving.bursts(slots));
                List<Matrix.Case> cases = matrix.cases(2 * slots + 3, 0);
                matrix.simulation(cases, Wiring.wires(1), slots).run(Interleaving.random(slots));
                Wiring nodes = Wiring.nodesOf(2, 1);
                matrix = matrix.on(nodes.nodes(nRanks)).readable();
                cases = matrix.cases(2 * slots + 3, 0);
                matrix.simulation(cases, nodes, slots).run(Interleaving.random(slots));
            }
        }
    }

    /** This is the case with more ranks than a slot of 256 KiB has lines. */
    @Test
    void isExactWithFewerLinesInASlotThanRanks() {
        checkFewLines(new int[] {2, 5}, 3, 5);
        for (int lines : new int[] {1, 2, 8}) {
            checkLines(9, lines, 2, List.of(Interleaving.bursts(lines)));
        }
    }

    @Tag("stress")
    @Test
    void isExactWithFewerLinesInMoreSlots() {
        checkFewLines(new int[] {3, 4}, 3, 5, 9);
        checkFewLines(new int[] {2, 5}, 9);
    }

    private static void checkFewLines(int[] numbersOfSlots, int... numbersOfRanks) {
        for (int slots : numbersOfSlots) {
            for (int nRanks : numbersOfRanks) {
                for (int lines : new int[] {1, 2, nRanks - 1}) {
                    checkLines(nRanks, lines, slots, adversaries(nRanks));
                }
            }
        }
    }

    private static void checkLines(
            int nRanks, int lines, int slots, List<Interleaving> interleavings) {
        Matrix matrix = Matrix.of(nRanks, 8, lines, slots);
        List<Matrix.Case> cases = matrix.cases(2 * slots + 3, 0);
        Matrix node = matrix.readable();
        List<Matrix.Case> onNode = node.cases(2 * slots + 3, 0);
        for (Interleaving interleaving : interleavings) {
            node.simulation(onNode, Wiring.node(), lines).run(interleaving);
        }
        Interleaving random = Interleaving.random(lines);
        matrix.simulation(cases, Wiring.wires(1), slots).run(random);
        Wiring nodes = Wiring.nodesOf(2, 1);
        matrix = matrix.on(nodes.nodes(nRanks));
        cases = matrix.cases(2 * slots + 3, 0);
        matrix.simulation(cases, nodes, slots).run(random);
    }

    @Test
    void meetsEveryAlgorithmWithManyChunksOfDifferentLengths() {
        Matrix matrix = Matrix.of(3, 4, 7, 4).readable();
        var met = new TreeSet<String>();
        Map<String, Set<Long>> sequenceNumbers = new HashMap<>();
        List<Matrix.Case> cases = new ArrayList<>(matrix.cases(11, 0));
        cases.addAll(matrix.on(Wiring.nodesOf(2, 1).nodes(3)).cases(11, 0));
        for (Matrix.Case c : cases) {
            Schedule schedule = c.algorithm().schedule(c.shape(), 1);
            boolean unequal =
                    differInLength(schedule)
                            || differInLength(c.algorithm().schedule(c.shape(), 0));
            String algorithm = c.shape().operation() + " by " + c.algorithm().name();
            met.add(algorithm);
            sequenceNumbers
                    .computeIfAbsent(algorithm, each -> new TreeSet<>())
                    .add((long) schedule.sequenceNumbers());
            if (schedule.sequenceNumbers() > 2 * matrix.limits().ringSlots() && unequal) {
                met.add(algorithm + ", many unequal chunks");
            }
        }
        var expected = new TreeSet<String>();
        for (Algorithm algorithm : Algorithms.all()) {
            String name = algorithm.operation() + " by " + algorithm.name();
            expected.add(name);
            // Those that cut calls into chunks have more sequence numbers for longer calls; the
            // others
            // have as many for all calls that are not empty.
            if (name.matches(".*(Sliced|Chunked|Hierarchical)")
                    || sequenceNumbers.getOrDefault(name, Set.of()).size() > 2) {
                expected.add(name + ", many unequal chunks");
            }
        }
        assertEquals(expected, met);
    }

    /** Whether puts of one kind to the same readers have different lengths, in whole lines. */
    private static boolean differInLength(Schedule schedule) {
        Map<String, Long> lengths = new HashMap<>();
        boolean differ = false;
        for (Step step : schedule.steps()) {
            if (step instanceof Step.Put put && put.length() % 64 == 0) {
                String kind = put.src().space() + Arrays.toString(put.readers());
                Long before = lengths.put(kind, put.length());
                differ |= before != null && before != put.length();
            }
        }
        return differ;
    }

    @Tag("stress")
    @ParameterizedTest
    @MethodSource("ranks")
    void isExactForEveryInterleaving(int nRanks) {
        List<Wiring> wirings = Wiring.various(nRanks);
        // Larger numbers of ranks take one wiring each, in turn: the time grows with the third
        // power.
        for (Wiring wiring : nRanks <= 16 ? wirings : List.of(wirings.get(nRanks % 4))) {
            Matrix matrix = Matrix.of(nRanks, 8, nRanks, 4).on(wiring.nodes(nRanks)).readable();
            List<Matrix.Case> cases = matrix.cases(6, nRanks - 1);
            for (Interleaving interleaving : adversaries(nRanks)) {
                matrix.simulation(cases, wiring, nRanks).run(interleaving);
            }
        }
    }

    private static List<Interleaving> adversaries(int nRanks) {
        List<Interleaving> all = new ArrayList<>();
        for (int r : new TreeSet<>(List.of(0, nRanks / 2, nRanks - 1))) {
            all.add(Interleaving.late(r));
        }
        all.add(Interleaving.roundRobin());
        all.add(Interleaving.lateWires());
        all.add(Interleaving.bursts(nRanks));
        return all;
    }
}
