package org.jccl.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.collective.Algorithm;
import org.jccl.collective.Algorithms;
import org.jccl.collective.SendRecv;
import org.jccl.schedule.Bounds;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/** The simulator finds what it is there to find. */
final class PlantedFaultsTest {
    private static final int N = 3;
    private static final int ELEMENT_BYTES = 8;
    private static final int SLOTS = 4;
    private static final Matrix MATRIX = Matrix.of(N, ELEMENT_BYTES, N, SLOTS).readable();

    private static final Limits LIMITS = MATRIX.limits();
    private static final int CHUNK = LIMITS.chunkBytes() / ELEMENT_BYTES;

    /** Two ranks on the first node, one on the second. */
    private static final Matrix ON_NODES = MATRIX.on(Wiring.nodesOf(2, 1).nodes(N)).readable();

    @Test
    void everyMutationOfEveryStepIsFound() {
        int mutations = 0;
        List<String> survivors = new ArrayList<>();
        for (Algorithm algorithm : Algorithms.all()) {
            Shape shape = largest(algorithm);
            for (int rank = 0; rank < N; rank++) {
                Schedule right = algorithm.schedule(shape, rank);
                for (var mutation : Mutations.of(right, ELEMENT_BYTES)) {
                    mutations++;
                    if (!isFound(algorithm, shape, right, mutation)
                            && !isHarmless(algorithm, mutation)) {
                        String name = algorithm.operation() + " by " + algorithm.name();
                        survivors.add(name + " rank " + rank + ": " + mutation.what());
                    }
                }
            }
        }
        assertEquals(List.of(), survivors);
        assertTrue(mutations > 1000, "tried " + mutations);
    }

    /**
     * From its fourth chunk on a rank has seen RELAYED of three chunks before, which its mates
     * signal after they have contributed: that the other signal came early changes nothing.
     */
    private static boolean isHarmless(Algorithm algorithm, Mutations.Mutation mutation) {
        return algorithm.name().equals("FoldHierarchical")
                && algorithm.operation() == Operation.ALL_REDUCE
                && mutation.what().matches("Signal 0 = [4-9] to .* too early");
    }

    /** For each algorithm that uses slots again, how many slots are too few for it. */
    private static final Map<String, Integer> TOO_FEW_SLOTS =
            Map.ofEntries(
                    Map.entry("ALL_REDUCE by FoldSliced", 2),
                    Map.entry("ALL_GATHER by CopyChunked", 3),
                    Map.entry("REDUCE_SCATTER by FoldSliced", 3),
                    Map.entry("BROADCAST by CopyChunked", 3),
                    Map.entry("ALL_REDUCE by FoldHierarchical", 3),
                    Map.entry("ALL_GATHER by AllGatherHierarchical", 3),
                    Map.entry("REDUCE_SCATTER by FoldHierarchical", 3),
                    Map.entry("BROADCAST by BroadcastHierarchical", 3),
                    Map.entry("REDUCE by FoldSliced", 3),
                    Map.entry("ALL_TO_ALL by CopyChunked", 3),
                    Map.entry("GATHER by CopyChunked", 3),
                    Map.entry("SCATTER by CopyChunked", 3));

    @Test
    void slotsThatAreUsedAgainTooEarlyAreFound() {
        var tried = new HashSet<String>();
        for (Algorithm algorithm : Algorithms.all()) {
            if (schedules(algorithm, largest(algorithm)).getFirst().sequenceNumbers() > SLOTS) {
                String name = algorithm.operation() + " by " + algorithm.name();
                Integer slots = TOO_FEW_SLOTS.get(name);
                assertNotNull(slots, "TOO_FEW_SLOTS lacks " + name);
                assertTooFewSlots(algorithm, slots);
                tried.add(name);
            }
        }
        assertEquals(TOO_FEW_SLOTS.keySet(), tried);
    }

    @Test
    void aRankWithAnotherRootIsFound() {
        for (String name : List.of("Tiny", "Flat", "CopyChunked")) {
            Algorithm algorithm = algorithm(Operation.BROADCAST, name);
            Shape shape = largest(algorithm);
            Shape other = MATRIX.shape(Operation.BROADCAST, 2, shape.count(), false);
            List<Schedule> schedules = schedules(algorithm, shape);
            schedules.set(1, algorithm.schedule(other, 1));
            assertFound(shape, schedules);
        }
    }

    @Test
    void anotherOrderOfReductionIsFound() {
        Terms terms = new Terms(3);
        long a = Terms.input(1, 0, 5);
        long b = Terms.input(1, 1, 5);
        long c = Terms.input(1, 2, 5);
        assertEquals(Terms.folded(1, 5), terms.fold(new long[] {a, b, c}, true));
        long wrong = terms.fold(new long[] {b, a, c}, true);
        assertNotEquals(Terms.folded(1, 5), wrong);
        assertNotEquals(Terms.folded(1, 5), terms.fold(new long[] {a, b, c}, false));
        assertEquals(wrong, terms.fold(new long[] {b, a, c}, true));
        assertEquals(
                "(call 1 rank 1 [5] + call 1 rank 0 [5] + call 1 rank 2 [5])",
                terms.describe(wrong));
    }

    @Test
    void differingSequenceNumbersAreFound() {
        Algorithm algorithm = algorithm(Operation.ALL_REDUCE, "Flat");
        Shape shape = largest(algorithm);
        List<Schedule> schedules = schedules(algorithm, shape);
        schedules.set(2, new Schedule(2, N, schedules.get(2).steps(), Schedule.Order.RANKS, 2));
        assertFound(shape, schedules);
    }

    @Test
    void aStepOutsideOfItsAreaIsFound() {
        Shape shape = MATRIX.shape(Operation.ALL_REDUCE, 0, 4, false);
        Ref end = new Ref(Space.SMALL, 0, MATRIX.limits().smallBytes() - 24);
        Step put = new Step.Put(new Ref(Space.IN, 0, 0), 32, end, new int[] {1});
        Schedule schedule = new Schedule(0, N, List.of(put), Schedule.Order.RANKS, 0);
        assertThrows(IllegalArgumentException.class, () -> Bounds.require(schedule, shape));
    }

    @Test
    void aRootThatRunsAheadOfItsCreditIsFound() {
        Algorithm algorithm = algorithm(Operation.BROADCAST, "Flat");
        Shape shape = MATRIX.shape(Operation.BROADCAST, 0, 5, false);
        Simulation simulation = simulation().withoutCredits();
        for (int call = 0; call < 3; call++) {
            simulation.call(algorithm, shape);
        }
        assertThrows(Violation.class, () -> simulation.run(Interleaving.roundRobin()));
    }

    @Test
    void sendsThatWaitForEachOtherAreFound() {
        Simulation simulation = simulation();
        int more = LIMITS.chunkSlots() * CHUNK + 1;
        simulation.transfers(new Transfer(0, 1, more), new Transfer(1, 0, more));
        simulation.run(Interleaving.roundRobin());

        Simulation oneByOne = simulation();
        oneByOne.crossed(new Transfer(0, 1, more), new Transfer(1, 0, more));
        Violation stuck =
                assertThrows(Violation.class, () -> oneByOne.run(Interleaving.roundRobin()));
        assertTrue(stuck.toString().contains("nobody can move"), stuck.toString());
    }

    @Test
    void everyMutationOfEveryStepOfAMessageIsFound() {
        List<String> survivors = new ArrayList<>();
        for (Wiring wiring : List.of(Wiring.node(), Wiring.wires(2))) {
            for (int side = 0; side < 2; side++) {
                Schedule right = SendRecv.schedule(side, LIMITS);
                Schedule other = SendRecv.schedule(1 - side, LIMITS);
                for (var mutation : Mutations.of(right, ELEMENT_BYTES)) {
                    Schedule wrong = with(right, mutation.steps());
                    List<Schedule> pair =
                            side == SendRecv.SENDER ? List.of(wrong, other) : List.of(other, wrong);
                    // A header and what follows it may change places.
                    if (!isFound(wiring, pair) && !mutation.what().matches("Copy.* earlier")) {
                        survivors.add(wiring + " rank " + side + ": " + mutation.what());
                    }
                }
            }
        }
        assertEquals(List.of(), survivors);
    }

    /** Whether a message of many chunks is found to go wrong by these schedules. */
    private static boolean isFound(Wiring wiring, List<Schedule> pair) {
        Transfer transfer = new Transfer(0, 1, 17 * CHUNK + 1);
        Simulation simulation = new Simulation(2, LIMITS, ELEMENT_BYTES, wiring);
        try {
            for (Schedule schedule : pair) {
                Bounds.require(schedule, transfer.shape(2, ELEMENT_BYTES, LIMITS));
            }
            simulation.transfer(transfer, pair.getFirst(), pair.getLast());
            simulation.run(Interleaving.roundRobin());
            return false;
        } catch (Violation | IllegalArgumentException found) {
            return true;
        }
    }

    @Test
    void aMessageThatIsNotExpectedIsFound() {
        for (Transfer other : List.of(new Transfer(0, 1, 7), new Transfer(0, 1, 5, 3))) {
            Simulation simulation = simulation();
            simulation.swapped(new Transfer(0, 1, 5), other);
            Violation found =
                    assertThrows(Violation.class, () -> simulation.run(Interleaving.roundRobin()));
            assertTrue(found.toString().contains("the next message is"), found.toString());
        }
    }

    private static void assertTooFewSlots(Algorithm algorithm, int slots) {
        Shape shape = largest(algorithm);
        int slotBytes = MATRIX.limits().ringSlotBytes();
        List<Schedule> schedules = schedules(algorithm, shape);
        schedules.replaceAll(s -> Mutations.withFewerSlots(s, slotBytes, SLOTS));
        runs(simulation(), shape, schedules);
        schedules.replaceAll(s -> Mutations.withFewerSlots(s, slotBytes, slots));
        assertFound(shape, schedules);
    }

    private static boolean isFound(
            Algorithm algorithm, Shape shape, Schedule right, Mutations.Mutation mutation) {
        try {
            List<Schedule> schedules = schedules(algorithm, shape);
            Schedule wrong = with(right, mutation.steps());
            Bounds.require(wrong, shape);
            schedules.set(right.rank(), wrong);
            runs(simulation(), shape, schedules);
            return false;
        } catch (Violation | IllegalArgumentException found) {
            return true;
        }
    }

    private static Schedule with(Schedule right, List<Step> steps) {
        return new Schedule(
                right.rank(), right.nRanks(), steps, right.order(), right.sequenceNumbers());
    }

    private static void assertFound(Shape shape, List<Schedule> schedules) {
        for (Wiring wiring : List.of(Wiring.node(), Wiring.wires(2))) {
            Simulation simulation = new Simulation(N, MATRIX.limits(), ELEMENT_BYTES, wiring);
            assertThrows(Violation.class, () -> runs(simulation, shape, schedules));
        }
    }

    private static void runs(Simulation simulation, Shape shape, List<Schedule> schedules) {
        simulation.call("planted " + shape, shape, schedules);
        simulation.run(Interleaving.roundRobin());
    }

    private static Simulation simulation() {
        return new Simulation(N, MATRIX.limits(), ELEMENT_BYTES, Wiring.node());
    }

    private static List<Schedule> schedules(Algorithm algorithm, Shape shape) {
        List<Schedule> schedules = new ArrayList<>();
        for (int r = 0; r < N; r++) {
            schedules.add(algorithm.schedule(shape, r));
        }
        return schedules;
    }

    private static Algorithm algorithm(Operation operation, String name) {
        return Algorithms.all().stream()
                .filter(a -> a.operation() == operation && a.name().equals(name))
                .findAny()
                .orElseThrow();
    }

    /** The case of an algorithm with the most elements, out of place, rank 0 as root. */
    private static Shape largest(Algorithm algorithm) {
        List<Shape> shapes = new ArrayList<>();
        List<Matrix.Case> cases = new ArrayList<>(MATRIX.cases(2 * SLOTS + 1, 0));
        cases.addAll(ON_NODES.cases(2 * SLOTS + 1, 0));
        for (Matrix.Case c : cases) {
            if (c.algorithm().equals(algorithm) && !c.shape().inPlace()) {
                shapes.add(c.shape());
            }
        }
        Shape largest = Collections.max(shapes, (a, b) -> Long.compare(a.count(), b.count()));
        assertTrue(largest.count() > 0, algorithm.name() + " meets only empty calls");
        return largest;
    }
}
