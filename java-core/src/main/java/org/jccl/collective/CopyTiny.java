package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * Every rank that sends to others publishes its whole input beside the word of its call, and every
 * rank that receives copies its part of each message. Serves every operation that reduces nothing.
 *
 * <p>Source: as {@link FoldTiny}. Cost: &alpha; + s &beta; + r &beta;, s what a rank sends, r what
 * it receives. Limits: s at most tinyBytes. Nothing is reduced.
 */
final class CopyTiny extends Algorithm {
    CopyTiny(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.inBytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int[] readers = steps.others(shape::receives);
        if (shape.sends(rank) && readers.length > 0) {
            steps.add(new Step.TinyPut(steps.in(0), shape.inBytes(), readers));
        }
        steps.copyOwnPart(shape);
        long part = shape.bytes();
        for (int q : steps.othersFromNext()) {
            if (shape.sends(q) && shape.receives(rank)) {
                Ref dst = steps.out(shape.outStart(q));
                long from = shape.inStart(rank);
                steps.add(new Step.TinyCopy(dst, q, from, part, shape.inBytes()));
            }
        }
        return 0;
    }
}
