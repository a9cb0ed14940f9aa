package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * The root publishes its input beside the word of its call, and the others copy it.
 *
 * <p>Source: as {@link AllReduceTiny}. Cost: &alpha; + 2 s &beta;. Limits: s at most tinyBytes.
 * Nothing is reduced.
 */
final class BroadcastTiny extends Algorithm {
    BroadcastTiny() {
        super(Operation.BROADCAST);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        if (rank != shape.root()) {
            steps.add(
                    new Step.TinyCopy(steps.out(0), shape.root(), 0, shape.bytes(), shape.bytes()));
            return 0;
        }
        steps.add(new Step.TinyPut(steps.in(0), shape.bytes(), steps.others()));
        if (!shape.inPlace()) {
            steps.copy(steps.out(0), steps.in(0), shape.bytes());
        }
        return 0;
    }
}
