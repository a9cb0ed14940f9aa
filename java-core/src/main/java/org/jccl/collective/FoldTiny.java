package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * Every rank that another one reads publishes its input beside the word of its call, which is the
 * only flag, and every rank that receives folds the messages of all. Serves all-reduce and reduce.
 *
 * <p>Source: NCCL's LL protocol, which sends flags with the data, and a flat exchange. Cost:
 * &alpha; + s &beta; + n s &gamma;. Limits: s at most tinyBytes. Order of reduction: ranks 0 to
 * n-1.
 */
final class FoldTiny extends Algorithm {
    FoldTiny(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int[] readers = steps.others(shape::receives);
        if (readers.length > 0) {
            steps.add(new Step.TinyPut(steps.in(0), shape.bytes(), readers));
        }
        if (shape.receives(rank)) {
            steps.add(new Step.TinyFold(steps.out(0), steps.in(0), shape.bytes()));
        }
        return 0;
    }
}
