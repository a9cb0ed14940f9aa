package org.jccl.simulation;

import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.Arrays;

/** A caller's input and output, one memory where the call is in place, in cells of one element. */
final class Buffers {
    private static final long[] NOTHING = {};

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

    /** Another rank reads cells of the input; the clock is the reader's. */
    long[] in(int cell, int n, int reader, int[] clock) {
        long[] terms = in(cell, n);
        for (int i = 0; i < n; i++) {
            inputs.read(inBase + cell + i, owner, reader, clock);
        }
        return terms;
    }

    /** The owner reads cells of the input. */
    long[] in(int cell, int n) {
        require(cell, n, inCells);
        return n == 0 ? NOTHING : Arrays.copyOfRange(input, inBase + cell, inBase + cell + n);
    }

    /** The owner reads cells of the output. */
    long[] out(int cell, int n) {
        require(cell, n, outCells);
        return n == 0 ? NOTHING : Arrays.copyOfRange(output, outBase + cell, outBase + cell + n);
    }

    /** The owner writes to the output. */
    void write(int cell, long[] terms, int[] clock) {
        int n = terms.length;
        require(cell, n, outCells);
        if (n > 0) {
            System.arraycopy(terms, 0, output, outBase + cell, n);
            outputs.write(outBase + cell, n, owner, clock);
        }
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

    void in(int cell, long term) {
        require(cell, 1, inCells);
        input[inBase + cell] = term;
    }

    long out(int cell) {
        require(cell, 1, outCells);
        return output[outBase + cell];
    }

    private static void require(int from, int n, int cells) {
        if (n > 0 && (from < 0 || from + n > cells)) {
            throw new Violation(
                    "elements " + from + " to " + (from + n) + " of a buffer of " + cells);
        }
    }
}
