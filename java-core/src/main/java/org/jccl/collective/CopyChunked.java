package org.jccl.collective;

import static org.jccl.type.Operation.Parts.EACH;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.function.IntConsumer;

/**
 * Every rank that sends makes its input readable, in {@link Chunks}, and those that receive copy
 * what they have for it. Serves every operation that reduces nothing.
 *
 * <p>Where all send to all, a rank gives one chunk ahead of those that it copies, and the ring
 * needs no acknowledgement ({@link Lookahead}): a rank that copies chunk c+2 has seen that
 * everybody contributed to it and so has copied chunk c before. A chunk of an input is readable
 * before the same chunk of the output is written, so that both may be the same memory. Where there
 * is a root, readers say that they have copied a chunk before its slot is used again.
 *
 * <p>Source: direct exchange, chunked; with a root, the flat tree, pipelined. Cost, of m chunks, s
 * what a rank sends: &alpha; + (n+1) s &beta; of an all-gather, m &alpha; + 2 s &beta; of an
 * all-to-all (over TCP s (1 - 1/n) &beta;), &alpha; + s &beta; (1 + 1/m) of a broadcast (over TCP,
 * at the root, (n-1) s &beta;), &alpha; + (n-1) s &beta; of a gather, &alpha; + s &beta; of a
 * scatter. Limits: where ranks send each other parts, a slot holds an element for each rank.
 * Nothing is reduced.
 */
final class CopyChunked extends Algorithm {
    CopyChunked(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        boolean parts = operation().in() == EACH;
        if (parts && Chunks.inOneSlot(shape)) {
            return true;
        }
        return (operation().rooted() || Lookahead.possible(shape.limits()))
                && (!parts || Chunks.largest(shape) > 0);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Chunks chunks = Chunks.of(shape);
        IntConsumer give = c -> chunks.give(steps, c, steps.takers());
        IntConsumer take = c -> chunks.take(steps, c, steps.givers());
        if (operation().rooted()) {
            Lookahead.interleave(chunks.count(), give.andThen(take));
        } else {
            Lookahead.order(chunks.count(), shape.limits(), give, take);
        }
        return chunks.count();
    }
}
