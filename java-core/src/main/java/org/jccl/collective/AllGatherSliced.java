package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Everybody sends its input through its ring in chunks, one ahead of those that it copies.
 *
 * <p>Four slots need no acknowledgement: a rank that copies chunk c+2 has seen that everybody
 * contributed to it and so has copied chunk c before ({@link Lookahead}).
 *
 * <p>Source: all-gather by direct exchange, chunked. Cost: &alpha; + (n+1) s &beta;, s a rank's
 * bytes. Limits: none. Nothing is reduced.
 */
final class AllGatherSliced extends Algorithm {
    AllGatherSliced() {
        super(Operation.ALL_GATHER);
    }

    @Override
    boolean fits(Shape shape) {
        return Lookahead.possible(shape.limits());
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Slices chunks = Slices.atMost(shape.bytes(), shape.limits().ringSlotBytes());
        Staging ring = Staging.ring(shape.limits());
        Lookahead.order(
                chunks.parts(),
                shape.limits(),
                c -> contribute(shape, rank, steps, chunks, ring, c),
                c -> gather(shape, steps, chunks, ring, c));
        return chunks.parts();
    }

    private static void contribute(
            Shape shape, int rank, ScheduleBuilder steps, Slices chunks, Staging ring, int c) {
        long from = chunks.start(c);
        steps.put(steps.in(from), ring.of(rank, c), chunks.length(c), steps.others());
        steps.signal(Flags.CONTRIBUTED, c + 1, steps.others());
        if (!shape.inPlace()) {
            long at = rank * shape.bytes() + from;
            steps.copy(steps.out(at), steps.in(from), chunks.length(c));
        }
    }

    private static void gather(
            Shape shape, ScheduleBuilder steps, Slices chunks, Staging ring, int c) {
        for (int q : steps.othersFromNext()) {
            steps.await(q, Flags.CONTRIBUTED, c + 1);
            long at = q * shape.bytes() + chunks.start(c);
            steps.copy(steps.out(at), ring.of(q, c), chunks.length(c));
        }
    }
}
