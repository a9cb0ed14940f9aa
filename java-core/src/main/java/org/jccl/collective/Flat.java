package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;

/**
 * Every rank that sends makes its whole input readable, and every rank that receives folds the
 * inputs of all, or copies each: one exchange, no second phase. Serves operations whose inputs go
 * whole to all that receive.
 *
 * <p>Source: the direct exchange that shared-memory collectives use for short vectors; of a
 * broadcast, the flat tree. Cost: &alpha; + s &beta; + r &beta; or n s &gamma;, s what a rank
 * sends, r what it receives (over TCP, of an all-reduce or at a root, (n-1) s &beta;). Limits: s at
 * most directBytes. Order of reduction: ranks 0 to n-1.
 */
final class Flat extends Algorithm {
    Flat(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().directBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Chunks chunk = Chunks.one(shape);
        chunk.give(steps, 0, steps.takers());
        if (!operation().reduces()) {
            chunk.take(steps, 0, steps.givers());
        } else if (shape.receives(rank)) {
            steps.awaitAll(steps.others(), Flags.CONTRIBUTED, 1);
            List<Ref> sources = steps.contributions(0, q -> chunk.staged(q, 0, rank));
            steps.fold(steps.out(0), sources, shape.bytes());
        }
        return 1;
    }
}
