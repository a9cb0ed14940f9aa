package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * Everybody publishes its whole input beside the word of its call, and copies its part of the
 * messages of all.
 *
 * <p>Source: as {@link AllReduceTiny}. Cost: &alpha; + 2 s &beta;, s the whole input. Limits: s at
 * most tinyBytes. Nothing is reduced.
 */
final class AllToAllTiny extends Algorithm {
    AllToAllTiny() {
        super(Operation.ALL_TO_ALL);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.inBytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long part = shape.bytes();
        steps.add(new Step.TinyPut(steps.in(0), shape.inBytes(), steps.others()));
        if (!shape.inPlace()) {
            steps.copy(steps.out(rank * part), steps.in(rank * part), part);
        }
        for (int q : steps.othersFromNext()) {
            steps.add(
                    new Step.TinyCopy(steps.out(q * part), q, rank * part, part, shape.inBytes()));
        }
        return 0;
    }
}
