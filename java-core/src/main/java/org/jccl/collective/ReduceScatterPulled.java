package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Every rank reads the others' contributions to its part out of their callers' inputs and folds
 * them. A rank ends when nobody reads its input any more.
 *
 * <p>Source: as {@link AllReducePulled}. Cost: 2 &alpha; + s ((n - 1) &beta; + n &gamma;), s the
 * part. Limits: all ranks read each other's buffers. Order of reduction: ranks 0 to n-1.
 */
final class ReduceScatterPulled extends Algorithm {
    ReduceScatterPulled() {
        super(Operation.REDUCE_SCATTER);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nodes().allReadable() && Pulls.possible(shape.limits(), shape.nRanks());
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int[] others = steps.others();
        steps.signal(Flags.CONTRIBUTED, 1, others);
        steps.awaitAll(others, Flags.CONTRIBUTED, 1);
        int[] all = shape.nodes().ranks(0);
        long part = shape.bytes();
        new Pulls(shape.limits(), rank, steps).fold(all, rank * part, 0, part, true);
        steps.signal(Flags.TAKEN, 1, others);
        steps.awaitAll(others, Flags.TAKEN, 1);
        return 1;
    }
}
