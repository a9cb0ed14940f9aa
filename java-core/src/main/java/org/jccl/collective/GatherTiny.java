package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * Everybody publishes its input beside the word of its call, and the root copies the messages of
 * all.
 *
 * <p>Source: as {@link AllReduceTiny}. Cost: &alpha; + n s &beta;, s a rank's bytes. Limits: s at
 * most tinyBytes. Nothing is reduced.
 */
final class GatherTiny extends Algorithm {
    GatherTiny() {
        super(Operation.GATHER);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long part = shape.bytes();
        if (rank != shape.root()) {
            steps.add(new Step.TinyPut(steps.in(0), part, new int[] {shape.root()}));
            return 0;
        }
        if (!shape.inPlace()) {
            steps.copy(steps.out(rank * part), steps.in(0), part);
        }
        for (int q : steps.othersFromNext()) {
            steps.add(new Step.TinyCopy(steps.out(q * part), q, 0, part, part));
        }
        return 0;
    }
}
