package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;

/**
 * Everybody makes the parts of its input readable, each to its owner, who folds them.
 *
 * <p>Source: reduce-scatter by direct exchange. Cost: &alpha; + s (1 - 1/n) &beta; + s &gamma;, s
 * the whole input. Limits: the parts, each rounded up to 64 bytes, at most directBytes together.
 * Order of reduction: ranks 0 to n-1.
 */
final class ReduceScatterFlat extends Algorithm {
    ReduceScatterFlat() {
        super(Operation.REDUCE_SCATTER);
    }

    @Override
    boolean fits(Shape shape) {
        return staged(shape) <= shape.limits().directBytes();
    }

    private static long staged(Shape shape) {
        return shape.nRanks() * Slices.align(shape.bytes());
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long bytes = shape.bytes();
        long stride = Slices.align(bytes);
        Staging slot = Staging.oneChunk(staged(shape), shape.limits());
        for (int q : steps.others()) {
            steps.put(steps.in(q * bytes), slot.of(rank, 0).plus(q * stride), bytes, q);
        }
        steps.signal(Flags.CONTRIBUTED, 1, steps.others());
        List<Ref> sources = new ArrayList<>();
        for (int q = 0; q < shape.nRanks(); q++) {
            boolean own = q == rank;
            sources.add(own ? steps.in(rank * bytes) : slot.of(q, 0).plus(rank * stride));
        }
        for (int q : steps.othersFromNext()) {
            steps.await(q, Flags.CONTRIBUTED, 1);
        }
        steps.fold(steps.out(0), sources, bytes);
        return 1;
    }
}
