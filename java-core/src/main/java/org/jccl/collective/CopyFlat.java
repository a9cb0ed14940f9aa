package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Every rank that sends makes its input readable, and the others copy it. Serves operations whose
 * inputs go whole to all.
 *
 * <p>Source: as {@link FoldFlat}; of a broadcast, the flat tree. Cost: &alpha; + s &beta; + r
 * &beta;, s what a rank sends, r what it receives (over TCP, at a broadcast's root, (n-1) s
 * &beta;). Limits: s at most directBytes. Nothing is reduced.
 */
final class CopyFlat extends Algorithm {
    CopyFlat(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().directBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long bytes = shape.bytes();
        Staging slot = Staging.oneChunk(bytes, shape.limits());
        if (shape.sends(rank)) {
            steps.put(steps.in(0), slot.of(rank, 0), bytes, steps.others());
            steps.signal(Flags.CONTRIBUTED, 1, steps.others());
        }
        steps.copyOwnPart(shape);
        for (int q : steps.othersFromNext()) {
            if (shape.sends(q)) {
                steps.await(q, Flags.CONTRIBUTED, 1);
                steps.copy(steps.out(shape.outStart(q)), slot.of(q, 0), bytes);
            }
        }
        return 1;
    }
}
