package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Every rank copies what it wants out of the buffers of the others' callers, once they are in the
 * call, or folds it, and ends when nobody reads its own any more. Serves every operation that
 * reduces nothing, and reduce-scatter.
 *
 * <p>Source: single-copy collectives of MPI libraries on shared memory (CMA, XPMEM). Cost: 2
 * &alpha; + s &beta;, s what a rank receives; of a reduce-scatter 2 &alpha; + s ((n - 1) &beta; + n
 * &gamma;), s the part. Limits: all ranks read each other's buffers. Order of reduction: ranks 0 to
 * n-1.
 */
final class Pulled extends Algorithm {
    Pulled(Operation operation) {
        super(operation);
    }

    @Override
    public boolean readsWhileWriting() {
        return operation() == Operation.ALL_TO_ALL;
    }

    @Override
    boolean fits(Shape shape) {
        boolean folds = operation().reduces();
        return shape.nodes().allReadable() && (!folds || Pulls.possible(shape));
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int[] givers = steps.givers();
        int[] takers = steps.takers();
        steps.signal(Flags.CONTRIBUTED, 1, takers);
        if (operation().reduces()) {
            steps.awaitAll(givers, Flags.CONTRIBUTED, 1);
            int[] all = shape.nodes().ranks(0);
            Pulls pulls = new Pulls(shape, rank, steps);
            pulls.fold(all, shape.inStart(rank), 0, shape.bytes());
        } else {
            steps.copyOwnPart(0, shape.bytes());
            for (int q : steps.fromNext(givers)) {
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
