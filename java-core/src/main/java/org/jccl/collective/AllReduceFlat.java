package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;

/**
 * Everybody makes its whole input readable and folds the inputs of all: one exchange, no second
 * phase.
 *
 * <p>Source: the direct exchange that shared-memory collectives use for short vectors. Cost:
 * &alpha; + s &beta; + n s &gamma; (over TCP (n-1) s &beta;). Limits: s at most directBytes. Order
 * of reduction: ranks 0 to n-1.
 */
final class AllReduceFlat extends Algorithm {
    AllReduceFlat() {
        super(Operation.ALL_REDUCE);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().directBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Staging slot = Staging.oneChunk(shape.bytes(), shape.limits());
        int[] others = steps.others();
        steps.put(steps.in(0), slot.of(rank, 0), shape.bytes(), others);
        steps.signal(Flags.CONTRIBUTED, 1, others);
        List<Ref> sources = new ArrayList<>();
        for (int q = 0; q < shape.nRanks(); q++) {
            sources.add(q == rank ? steps.in(0) : slot.of(q, 0));
        }
        for (int q : others) {
            steps.await(q, Flags.CONTRIBUTED, 1);
        }
        steps.fold(steps.out(0), sources, shape.bytes());
        return 1;
    }
}
