package org.jccl.collective;

import static org.jccl.type.Operation.Parts.EACH;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * Every rank that sends to others publishes its whole input beside the word of its call, which is
 * the only flag, and every rank that receives folds the messages of all, or copies its part of
 * each. Serves every operation. Of a reduce-scatter a rank folds everything and keeps its own part:
 * at this size the superfluous elements cost less than a second kind of message would.
 *
 * <p>Source: NCCL's LL protocol, which sends flags with the data, and a flat exchange. Cost:
 * &alpha; + s &beta; + r &beta; or n s &gamma;, s what a rank sends, r what it receives. Limits: s
 * at most tinyBytes. Order of reduction: ranks 0 to n-1.
 */
final class Tiny extends Algorithm {
    Tiny(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.inBytes() <= shape.limits().tinyBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int[] readers = steps.takers();
        if (readers.length > 0) {
            steps.add(new Step.TinyPut(steps.in(0), shape.inBytes(), readers));
        }
        long from = shape.inStart(rank);
        if (!operation().reduces()) {
            steps.copyOwnPart(0, shape.bytes());
            for (int q : steps.fromNext(steps.givers())) {
                Ref dst = steps.out(shape.outStart(q));
                steps.add(new Step.TinyCopy(dst, q, from, shape.bytes(), shape.inBytes()));
            }
        } else if (shape.receives(rank)) {
            boolean keepsPart = operation().in() == EACH;
            Ref result = keepsPart ? new Ref(Space.SMALL, rank, 0) : steps.out(0);
            steps.add(new Step.TinyFold(result, steps.in(0), shape.inBytes()));
            if (keepsPart) {
                steps.copy(steps.out(0), result.plus(from), shape.bytes());
            }
        }
        return 0;
    }
}
