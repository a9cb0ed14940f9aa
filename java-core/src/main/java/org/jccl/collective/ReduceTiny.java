package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * Everybody publishes its input beside the word of its call, and the root folds the messages of
 * all.
 *
 * <p>Source: as {@link AllReduceTiny}. Cost: &alpha; + s &beta; + n s &gamma;. Limits: s at most
 * tinyBytes. Order of reduction: ranks 0 to n-1.
 */
final class ReduceTiny extends Algorithm {
    ReduceTiny() {
        super(Operation.REDUCE);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        if (rank == shape.root()) {
            steps.add(new Step.TinyFold(steps.out(0), steps.in(0), shape.bytes()));
        } else {
            steps.add(new Step.TinyPut(steps.in(0), shape.bytes(), new int[] {shape.root()}));
        }
        return 0;
    }
}
