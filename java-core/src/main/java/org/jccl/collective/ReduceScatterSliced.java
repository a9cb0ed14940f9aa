package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.ArrayList;
import java.util.List;

/**
 * {@link ReduceScatterFlat} in chunks through the ring, one ahead of those that are folded: a slot
 * holds the same chunk of every part. The ring needs no acknowledgement ({@link Lookahead}).
 *
 * <p>Source: reduce-scatter by direct exchange, chunked. Cost: &alpha; + s (1 - 1/n) &beta; + s
 * &gamma;, s the whole input. Limits: a slot holds 64 bytes for each rank. Order of reduction:
 * ranks 0 to n-1.
 */
final class ReduceScatterSliced extends Algorithm {
    ReduceScatterSliced() {
        super(Operation.REDUCE_SCATTER);
    }

    @Override
    boolean fits(Shape shape) {
        return Lookahead.possible(shape.limits()) && partBytes(shape) >= Slices.UNIT_BYTES;
    }

    private static long partBytes(Shape shape) {
        return shape.limits().ringSlotBytes() / shape.nRanks();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Slices chunks = Slices.atMost(shape.bytes(), partBytes(shape));
        Staging ring = Staging.ring(shape.limits());
        Lookahead.order(
                chunks.parts(),
                shape.limits(),
                c -> contribute(shape, rank, steps, chunks, ring, c),
                c -> fold(shape, rank, steps, chunks, ring, c));
        return chunks.parts();
    }

    private static void contribute(
            Shape shape, int rank, ScheduleBuilder steps, Slices chunks, Staging ring, int c) {
        for (int q : steps.others()) {
            Ref src = steps.in(q * shape.bytes() + chunks.start(c));
            Ref dst = ring.of(rank, c).plus(q * chunks.stride());
            steps.put(src, dst, chunks.length(c), q);
        }
        steps.signal(Flags.CONTRIBUTED, c + 1, steps.others());
    }

    private static void fold(
            Shape shape, int rank, ScheduleBuilder steps, Slices chunks, Staging ring, int c) {
        List<Ref> sources = new ArrayList<>();
        for (int q = 0; q < shape.nRanks(); q++) {
            sources.add(
                    q == rank
                            ? steps.in(rank * shape.bytes() + chunks.start(c))
                            : ring.of(q, c).plus(rank * chunks.stride()));
        }
        for (int q : steps.othersFromNext()) {
            steps.await(q, Flags.CONTRIBUTED, c + 1);
        }
        steps.fold(steps.out(chunks.start(c)), sources, chunks.length(c));
    }
}
