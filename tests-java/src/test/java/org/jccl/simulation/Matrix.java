package org.jccl.simulation;

import org.jccl.collective.Algorithm;
import org.jccl.collective.Algorithms;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Nodes;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** Every algorithm with the calls that it is tried with, on areas so small that chunks abound. */
record Matrix(Nodes nodes, int elementBytes, Limits limits) {
    /** A call of one algorithm. */
    record Case(Algorithm algorithm, Shape shape) {}

    private static final int UNIT_BYTES = 64;

    /**
     * Areas for {@code nRanks}.
     *
     * @param unitsPerSlot cache lines in a slot of the ring
     */
    static Matrix of(int nRanks, int elementBytes, int unitsPerSlot, int ringSlots) {
        int direct = UNIT_BYTES * (nRanks + 3);
        int slot = UNIT_BYTES * unitsPerSlot;
        direct = Math.max(448, direct);
        Limits limits = new Limits(320, 384, direct, slot, ringSlots, UNIT_BYTES, 2);
        return new Matrix(Nodes.one(nRanks), elementBytes, limits);
    }

    /** The same for ranks that know of being on these nodes. */
    Matrix on(Nodes where) {
        return new Matrix(where, elementBytes, limits);
    }

    /** The same for ranks that can read each other's buffers on a node. */
    Matrix readable() {
        return new Matrix(nodes.withReadableBuffers(), elementBytes, limits);
    }

    private int nRanks() {
        return nodes.nRanks();
    }

    /** All calls of all algorithms, each in and out of place, with these roots. */
    List<Case> cases(int mostChunks, int... roots) {
        List<Case> cases = new ArrayList<>();
        for (Algorithm algorithm : Algorithms.all()) {
            Operation operation = algorithm.operation();
            for (int root : operation.rooted() ? roots : new int[] {0}) {
                for (long count : counts(operation, mostChunks)) {
                    for (boolean inPlace : new boolean[] {false, true}) {
                        Shape shape = shape(operation, root, count, inPlace);
                        if (algorithm.supports(shape)) {
                            cases.add(new Case(algorithm, shape));
                        }
                    }
                }
            }
        }
        return cases;
    }

    Shape shape(Operation operation, int root, long count, boolean inPlace) {
        return new Shape(operation, nodes, root, count, elementBytes, inPlace, limits);
    }

    /** All ranks as roots. */
    int[] everyRoot() {
        return IntStream.range(0, nRanks()).toArray();
    }

    /** A simulation of these calls in an order by seed, which they then share a communicator in. */
    Simulation simulation(List<Case> cases, Wiring wiring, long seed) {
        List<Case> shuffled = new ArrayList<>(cases);
        Collections.shuffle(shuffled, new Random(seed));
        Simulation simulation = new Simulation(nRanks(), limits, elementBytes, wiring);
        shuffled.forEach(c -> simulation.call(c.algorithm(), c.shape()));
        return simulation;
    }

    /** Empty, one, odd, just below, at and above a slot; many chunks, equal or not, or too few. */
    private List<Long> counts(Operation operation, int mostChunks) {
        long line = UNIT_BYTES / elementBytes;
        long slot = limits.ringSlotBytes() / elementBytes;
        if (operation.in() == Operation.Parts.EACH) {
            slot = Math.max(line, slot / nRanks() / line * line);
        }
        long tiny = limits.tinyBytes() / elementBytes;
        long full = slot * mostChunks;
        return List.of(
                        0L,
                        1L,
                        3L,
                        tiny / nRanks(),
                        tiny,
                        tiny + 1,
                        slot - 1,
                        slot,
                        slot + 1,
                        2 * slot + 17,
                        full - 5,
                        full,
                        full - line - 1,
                        full - 3 * line,
                        full - slot / 2,
                        full - slot + line)
                .stream()
                .filter(count -> count >= 0)
                .distinct()
                .toList();
    }
}
