package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * The root sends its input through its ring in chunks; the others copy them while the next is
 * coming, and say so before the root uses a slot again.
 *
 * <p>Source: the flat tree, pipelined. Cost: &alpha; + s &beta; (1 + 1/m) (over TCP, at the root,
 * (n-1) s &beta;). Limits: none. Nothing is reduced.
 */
final class BroadcastChunked extends Algorithm {
    BroadcastChunked() {
        super(Operation.BROADCAST);
    }

    @Override
    boolean fits(Shape shape) {
        return true;
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        int[] readers = rank == shape.root() ? steps.others() : new int[0];
        return new BroadcastLink(shape, rank, steps).write(shape.root(), readers);
    }
}
