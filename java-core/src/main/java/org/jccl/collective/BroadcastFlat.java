package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * The root makes its input readable and the others copy it.
 *
 * <p>Source: the flat tree. Cost: &alpha; + 2 s &beta; (over TCP, at the root, (n-1) s &beta;).
 * Limits: s at most directBytes. Nothing is reduced.
 */
final class BroadcastFlat extends Algorithm {
    BroadcastFlat() {
        super(Operation.BROADCAST);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.bytes() <= shape.limits().directBytes();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        long bytes = shape.bytes();
        int root = shape.root();
        Staging slot = Staging.oneChunk(bytes, shape.limits());
        if (rank == root) {
            steps.put(steps.in(0), slot.of(root, 0), bytes, steps.others());
            steps.signal(Flags.CONTRIBUTED, 1, steps.others());
            if (!shape.inPlace()) {
                steps.copy(steps.out(0), steps.in(0), bytes);
            }
        } else {
            steps.await(root, Flags.CONTRIBUTED, 1);
            steps.copy(steps.out(0), slot.of(root, 0), bytes);
        }
        return 1;
    }
}
