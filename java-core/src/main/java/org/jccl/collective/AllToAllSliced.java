package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Everybody makes what it has for each of the others readable, and copies what they have for it: in
 * one slot if the whole input fits, else the same chunk of all parts at a time through the ring,
 * one ahead of those that are copied. The ring needs no acknowledgement ({@link Lookahead}). A
 * chunk of an input is readable before the same chunk of the output is written, so that both may be
 * the same memory.
 *
 * <p>Source: all-to-all by direct exchange, chunked. Cost: m &alpha; + 2 s &beta;, s the whole
 * input, of m chunks (over TCP s (1 - 1/n) &beta;). Limits: a slot holds an element for each rank.
 * Nothing is reduced.
 */
final class AllToAllSliced extends Algorithm {
    AllToAllSliced() {
        super(Operation.ALL_TO_ALL);
    }

    @Override
    boolean fits(Shape shape) {
        return Parts.inOneSlot(shape)
                || (Lookahead.possible(shape.limits()) && Parts.inElements(shape));
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Parts parts = new Parts(shape);
        Lookahead.order(
                parts.chunks(),
                shape.limits(),
                c -> give(shape, rank, steps, parts, c),
                c -> take(rank, steps, parts, c));
        return parts.chunks();
    }

    private static void give(Shape shape, int rank, ScheduleBuilder steps, Parts parts, int chunk) {
        parts.give(steps, rank, chunk);
        if (!shape.inPlace()) {
            long own = parts.at(chunk, rank);
            steps.copy(steps.out(own), steps.in(own), parts.length(chunk));
        }
    }

    private static void take(int rank, ScheduleBuilder steps, Parts parts, int chunk) {
        for (int q : steps.othersFromNext()) {
            steps.await(q, Flags.CONTRIBUTED, chunk + 1);
            Ref from = parts.staged(q, chunk, rank);
            steps.copy(steps.out(parts.at(chunk, q)), from, parts.length(chunk));
        }
    }
}
