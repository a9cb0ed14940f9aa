package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;
import org.jccl.type.Operation.Parts;

import java.util.stream.IntStream;

/**
 * Every rank copies what it wants out of the buffers of the others' callers, once they are in the
 * call, and ends when nobody reads its own any more. Serves every operation that reduces nothing.
 *
 * <p>Source: single-copy collectives of MPI libraries on shared memory (CMA, XPMEM). Cost: 2
 * &alpha; + s &beta;, s what a rank receives. Limits: all ranks read each other's buffers; an
 * all-to-all is not in place.
 */
final class CopyPulled extends Algorithm {
    CopyPulled(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        boolean overwrites = shape.inPlace() && shape.operation() == Operation.ALL_TO_ALL;
        return shape.nodes().allReadable() && !overwrites;
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int[] givers = steps.others(q -> sends(shape, q) && receives(shape, rank));
        int[] takers = steps.others(q -> receives(shape, q) && sends(shape, rank));
        steps.signal(Flags.CONTRIBUTED, 1, takers);
        if (sends(shape, rank) && receives(shape, rank) && !shape.inPlace()) {
            steps.copy(steps.out(to(shape, rank)), steps.in(from(shape, rank)), shape.bytes());
        }
        for (int q : inTurn(givers, rank)) {
            steps.await(q, Flags.CONTRIBUTED, 1);
            steps.copy(steps.out(to(shape, q)), steps.in(q, from(shape, rank)), shape.bytes());
        }
        steps.signal(Flags.TAKEN, 1, givers);
        for (int q : takers) {
            steps.await(q, Flags.TAKEN, 1);
        }
        return 1;
    }

    /** From the next rank on: not all begin with the same one. */
    private static int[] inTurn(int[] ranks, int rank) {
        return IntStream.concat(
                        IntStream.of(ranks).filter(q -> q > rank),
                        IntStream.of(ranks).filter(q -> q < rank))
                .toArray();
    }

    private static boolean sends(Shape shape, int rank) {
        return shape.operation().sends(rank, shape.root());
    }

    private static boolean receives(Shape shape, int rank) {
        return shape.operation().receives(rank, shape.root());
    }

    /** Where in an input the part for a rank begins. */
    private static long from(Shape shape, int receiver) {
        return shape.operation().in() == Parts.EACH ? receiver * shape.bytes() : 0;
    }

    /** Where in an output the part of a rank begins. */
    private static long to(Shape shape, int sender) {
        return shape.operation().out() == Parts.EACH ? sender * shape.bytes() : 0;
    }
}
