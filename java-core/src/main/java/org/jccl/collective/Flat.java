package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

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
        long bytes = shape.bytes();
        Staging slot = Staging.oneChunk(bytes, shape.limits());
        if (shape.sends(rank)) {
            int[] readers = steps.others(shape::receives);
            steps.put(steps.in(0), slot.of(rank, 0), bytes, readers);
            steps.signal(Flags.CONTRIBUTED, 1, readers);
        }
        if (!operation().reduces()) {
            copy(shape, steps, slot);
        } else if (shape.receives(rank)) {
            steps.awaitAll(steps.others(), Flags.CONTRIBUTED, 1);
            steps.fold(steps.out(0), steps.contributions(0, q -> slot.of(q, 0)), bytes);
        }
        return 1;
    }

    private static void copy(Shape shape, ScheduleBuilder steps, Staging slot) {
        steps.copyOwnPart(shape);
        for (int q : steps.othersFromNext()) {
            if (shape.sends(q)) {
                steps.await(q, Flags.CONTRIBUTED, 1);
                steps.copy(steps.out(shape.outStart(q)), slot.of(q, 0), shape.bytes());
            }
        }
    }
}
