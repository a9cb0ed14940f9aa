package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Every rank copies what it wants out of the buffers of the others' callers, once they are in the
 * call, and ends when nobody reads its own any more. Serves every operation that reduces nothing.
 *
 * <p>Source: single-copy collectives of MPI libraries on shared memory (CMA, XPMEM). Cost: 2
 * &alpha; + s &beta;, s what a rank receives. Limits: all ranks read each other's buffers; an
 * all-to-all is not in place. Nothing is reduced.
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
        int[] givers = steps.others(q -> shape.sends(q) && shape.receives(rank));
        int[] takers = steps.others(q -> shape.receives(q) && shape.sends(rank));
        steps.signal(Flags.CONTRIBUTED, 1, takers);
        steps.copyOwnPart(shape);
        for (int q : steps.othersFromNext()) {
            if (shape.sends(q) && shape.receives(rank)) {
                Ref src = steps.in(q, shape.inStart(rank));
                steps.await(q, Flags.CONTRIBUTED, 1);
                steps.copy(steps.out(shape.outStart(q)), src, shape.bytes());
            }
        }
        steps.signal(Flags.TAKEN, 1, givers);
        steps.awaitAll(takers, Flags.TAKEN, 1);
        return 1;
    }
}
