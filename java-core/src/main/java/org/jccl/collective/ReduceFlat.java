package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;

/**
 * Everybody makes its whole input readable to the root, which folds the inputs of all.
 *
 * <p>Source: as {@link AllReduceFlat}. Cost: &alpha; + s &beta; + n s &gamma; (over TCP, at the
 * root, (n-1) s &beta;). Limits: s at most directBytes. Order of reduction: ranks 0 to n-1.
 */
final class ReduceFlat extends Algorithm {
    ReduceFlat() {
        super(Operation.REDUCE);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().directBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int root = shape.root();
        Staging slot = Staging.oneChunk(shape.bytes(), shape.limits());
        if (rank != root) {
            steps.put(steps.in(0), slot.of(rank, 0), shape.bytes(), root);
            steps.signal(Flags.CONTRIBUTED, 1, root);
            return 1;
        }
        List<Ref> sources = new ArrayList<>();
        for (int q = 0; q < shape.nRanks(); q++) {
            sources.add(q == root ? steps.in(0) : slot.of(q, 0));
        }
        for (int q : steps.othersFromNext()) {
            steps.await(q, Flags.CONTRIBUTED, 1);
        }
        steps.fold(steps.out(0), sources, shape.bytes());
        return 1;
    }
}
