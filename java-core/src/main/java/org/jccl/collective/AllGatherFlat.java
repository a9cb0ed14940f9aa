package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Everybody makes its input readable and copies the inputs of all.
 *
 * <p>Source: as {@link AllReduceFlat}. Cost: &alpha; + (n+1) s &beta;, s a rank's bytes. Limits: s
 * at most directBytes. Nothing is reduced.
 */
final class AllGatherFlat extends Algorithm {
    AllGatherFlat() {
        super(Operation.ALL_GATHER);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().directBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long bytes = shape.bytes();
        Staging slot = Staging.oneChunk(bytes, shape.limits());
        steps.put(steps.in(0), slot.of(rank, 0), bytes, steps.others());
        steps.signal(Flags.CONTRIBUTED, 1, steps.others());
        if (!shape.inPlace()) {
            steps.copy(steps.out(rank * bytes), steps.in(0), bytes);
        }
        for (int q : steps.othersFromNext()) {
            steps.await(q, Flags.CONTRIBUTED, 1);
            steps.copy(steps.out(q * bytes), slot.of(q, 0), bytes);
        }
        return 1;
    }
}
