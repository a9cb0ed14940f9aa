package org.jccl.simulation;

import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/** A caller's input and output, one memory where the call is in place, in cells of one element. */
final class Buffers {
    private final long[] input;
    private final long[] output;
    private final int inBase;
    private final int outBase;
    private final int inCells;
    private final int outCells;
    private final int owner;
    private final Accesses inputs;
    private final Accesses outputs;

    /**
     * Buffers of {@code rank}.
     *
     * @param sender of a transfer, else -1
     */
    Buffers(Shape shape, int rank, int sender) {
        owner = rank;
        int size = shape.elementBytes();
        int count = Math.toIntExact(shape.count());
        if (sender >= 0) {
            inCells = sender == rank ? count : 0;
            outCells = sender == rank ? 0 : count;
        } else {
            Operation operation = shape.operation();
            boolean sends = operation.sends(rank, shape.root());
            boolean receives = operation.receives(rank, shape.root());
            inCells = sends ? Math.toIntExact(shape.inBytes() / size) : 0;
            outCells = receives ? Math.toIntExact(shape.outBytes() / size) : 0;
        }
        if (!shape.inPlace() || inCells == 0 || outCells == 0) {
            input = new long[inCells];
            output = new long[outCells];
            inBase = 0;
            outBase = 0;
            inputs = new Accesses(inCells, shape.nRanks());
            outputs = new Accesses(outCells, shape.nRanks());
            return;
        }
        input = new long[Math.max(inCells, outCells)];
        output = input;
        inBase = inCells < outCells ? rank * count : 0;
        outBase = outCells < inCells ? rank * count : 0;
        inputs = new Accesses(input.length, shape.nRanks());
        outputs = inputs;
    }

    /** Another rank reads a cell of the input; the clock is the reader's. */
    long in(int cell, int reader, int[] clock) {
        long term = in(cell);
        inputs.read(inBase + cell, owner, reader, clock);
        return term;
    }

    /** The owner writes to the output. */
    void write(int cell, long term, int[] clock) {
        out(cell, term);
        outputs.write(outBase + cell, owner, clock);
    }

    /** The owner gives both back to its caller. */
    void end(int[] clock) {
        inputs.end(clock);
        outputs.end(clock);
    }

    int inCells() {
        return inCells;
    }

    int outCells() {
        return outCells;
    }

    long in(int cell) {
        require(cell, inCells);
        return input[inBase + cell];
    }

    void in(int cell, long term) {
        require(cell, inCells);
        input[inBase + cell] = term;
    }

    long out(int cell) {
        require(cell, outCells);
        return output[outBase + cell];
    }

    void out(int cell, long term) {
        require(cell, outCells);
        output[outBase + cell] = term;
    }

    private static void require(int cell, int cells) {
        if (cell < 0 || cell >= cells) {
            throw new Violation("element " + cell + " of a buffer of " + cells);
        }
    }
}
