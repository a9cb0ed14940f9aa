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
 * &alpha; + s &beta;, s what a rank receives. Limits: all ranks read each other's buffers.
 */
final class Pulled extends Algorithm {
    Pulled(Operation operation) {
        super(operation);
    }

    @Override
    public boolean readsWhileWriting() {
        return operation().exchanges();
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nodes().allReadable();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int[] givers = steps.givers();
        int[] takers = steps.takers();
        steps.signal(Flags.CONTRIBUTED, 1, takers);
        steps.copyOwnPart(0, shape.bytes());
        for (int q : steps.fromNext(givers)) {
            Ref src = steps.in(q, shape.inStart(rank));
            steps.await(q, Flags.CONTRIBUTED, 1);
            steps.copy(steps.out(shape.outStart(q)), src, shape.bytes());
        }
        steps.signal(Flags.TAKEN, 1, givers);
        steps.awaitAll(takers, Flags.TAKEN, 1);
        return 1;
    }
}
