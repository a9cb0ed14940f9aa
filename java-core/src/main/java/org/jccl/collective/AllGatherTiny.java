package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * Everybody publishes its input beside the word of its call, and copies the messages of all.
 *
 * <p>Source: as {@link AllReduceTiny}. Cost: &alpha; + n s &beta;, s a rank's bytes. Limits: s at
 * most tinyBytes. Nothing is reduced.
 */
final class AllGatherTiny extends Algorithm {
    AllGatherTiny() {
        super(Operation.ALL_GATHER);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long bytes = shape.bytes();
        steps.add(new Step.TinyPut(steps.in(0), bytes, steps.others()));
        if (!shape.inPlace()) {
            steps.copy(steps.out(rank * bytes), steps.in(0), bytes);
        }
        for (int q : steps.othersFromNext()) {
            steps.add(new Step.TinyCopy(steps.out(q * bytes), q, 0, bytes, bytes));
        }
        return 0;
    }
}
