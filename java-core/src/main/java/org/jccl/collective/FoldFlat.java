package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Every rank that another one reads makes its whole input readable, and every rank that receives
 * folds the inputs of all: one exchange, no second phase. Serves all-reduce and reduce.
 *
 * <p>Source: the direct exchange that shared-memory collectives use for short vectors. Cost:
 * &alpha; + s &beta; + n s &gamma; (over TCP, of an all-reduce or at the root, (n-1) s &beta;).
 * Limits: s at most directBytes. Order of reduction: ranks 0 to n-1.
 */
final class FoldFlat extends Algorithm {
    FoldFlat(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().directBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long bytes = shape.bytes();
        Staging slot = Staging.oneChunk(bytes, shape.limits());
        int[] readers = steps.others(shape::receives);
        steps.put(steps.in(0), slot.of(rank, 0), bytes, readers);
        steps.signal(Flags.CONTRIBUTED, 1, readers);
        if (shape.receives(rank)) {
            steps.awaitAll(steps.others(), Flags.CONTRIBUTED, 1);
            steps.fold(steps.out(0), steps.contributions(0, q -> slot.of(q, 0)), bytes);
        }
        return 1;
    }
}
