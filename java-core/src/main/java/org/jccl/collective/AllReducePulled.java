package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Every rank owns a slice: it reads the others' contributions to it out of their callers' inputs
 * and folds them into its own output, out of which the others copy the result. A rank ends when
 * nobody reads its output any more.
 *
 * <p>Source: Rabenseifner's all-reduce in its direct form, with the single copies of MPI libraries
 * on shared memory. Cost: 3 &alpha; + s (2 (1 - 1/n) &beta; + &gamma;). Limits: all ranks read each
 * other's buffers. Order of reduction: ranks 0 to n-1.
 */
final class AllReducePulled extends Algorithm {
    AllReducePulled() {
        super(Operation.ALL_REDUCE);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nodes().allReadable() && Pulls.possible(shape);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Slices slices = new Slices(shape.bytes(), shape.nRanks());
        int[] others = steps.others();
        int[] owners = steps.others(q -> slices.length(q) > 0);
        boolean owns = slices.length(rank) > 0;
        steps.signal(Flags.CONTRIBUTED, 1, owners);
        if (owns) {
            steps.awaitAll(others, Flags.CONTRIBUTED, 1);
            int[] all = shape.nodes().ranks(0);
            long at = slices.start(rank);
            new Pulls(shape, rank, steps).fold(all, at, at, slices.length(rank));
            steps.signal(Flags.REDUCED, 1, others);
        }
        for (int q : steps.fromNext(others)) {
            if (slices.length(q) > 0) {
                steps.await(q, Flags.REDUCED, 1);
                long at = slices.start(q);
                steps.copy(steps.out(at), steps.out(q, at), slices.length(q));
            }
        }
        steps.signal(Flags.CONTRIBUTED, 2, owners);
        if (owns) {
            steps.awaitAll(others, Flags.CONTRIBUTED, 2);
        }
        return 2;
    }
}
