package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;

/**
 * Everybody makes its contribution to each of the others' parts readable, and folds those of all to
 * its own part: in one slot if the whole input fits, else the same chunk of all parts at a time
 * through the ring, one ahead of those that are folded. The ring needs no acknowledgement ({@link
 * Lookahead}).
 *
 * <p>Source: reduce-scatter by direct exchange, chunked. Cost: &alpha; + s (1 - 1/n) &beta; + s
 * &gamma;, s the whole input. Limits: of more than one slot, each holds 64 bytes for each rank.
 * Order of reduction: ranks 0 to n-1.
 */
final class ReduceScatterSliced extends Algorithm {
    ReduceScatterSliced() {
        super(Operation.REDUCE_SCATTER);
    }

    @Override
    boolean fits(Shape shape) {
        return Chunks.inOneSlot(shape)
                || (Lookahead.possible(shape.limits()) && Chunks.inLines(shape));
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Chunks chunks = Chunks.ofParts(shape);
        Lookahead.order(
                chunks.count(),
                shape.limits(),
                c -> chunks.give(steps, rank, c, steps.others()),
                c -> {
                    long at = shape.inStart(rank) + chunks.start(c);
                    List<Ref> sources = steps.contributions(at, q -> chunks.staged(q, c, rank));
                    steps.awaitAll(steps.othersFromNext(), Flags.CONTRIBUTED, c + 1);
                    steps.fold(steps.out(chunks.start(c)), sources, chunks.length(c));
                });
        return chunks.count();
    }
}
