package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * Everybody publishes its whole input beside the word of its call, folds the messages of all and
 * keeps its own part: at this size the superfluous elements cost less than a second kind of message
 * would.
 *
 * <p>Source: as {@link FoldTiny}. Cost: &alpha; + s &beta; + n s &gamma;, s the whole input.
 * Limits: s at most tinyBytes. Order of reduction: ranks 0 to n-1.
 */
final class ReduceScatterTiny extends Algorithm {
    ReduceScatterTiny() {
        super(Operation.REDUCE_SCATTER);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.inBytes() <= Math.min(shape.limits().tinyBytes(), shape.limits().smallBytes());
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Ref scratch = new Ref(Space.SMALL, rank, 0);
        steps.add(new Step.TinyPut(steps.in(0), shape.inBytes(), steps.others()));
        steps.add(new Step.TinyFold(scratch, steps.in(0), shape.inBytes()));
        steps.copy(steps.out(0), scratch.plus(rank * shape.bytes()), shape.bytes());
        return 0;
    }
}
