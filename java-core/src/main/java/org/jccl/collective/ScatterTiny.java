package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * The root publishes its whole input beside the word of its call, and the others copy their part.
 *
 * <p>Source: as {@link AllReduceTiny}. Cost: &alpha; + s &beta;, s the whole input. Limits: s at
 * most tinyBytes. Nothing is reduced.
 */
final class ScatterTiny extends Algorithm {
    ScatterTiny() {
        super(Operation.SCATTER);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.inBytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long part = shape.bytes();
        if (rank != shape.root()) {
            steps.add(
                    new Step.TinyCopy(
                            steps.out(0), shape.root(), rank * part, part, shape.inBytes()));
            return 0;
        }
        steps.add(new Step.TinyPut(steps.in(0), shape.inBytes(), steps.others()));
        if (!shape.inPlace()) {
            steps.copy(steps.out(0), steps.in(rank * part), part);
        }
        return 0;
    }
}
