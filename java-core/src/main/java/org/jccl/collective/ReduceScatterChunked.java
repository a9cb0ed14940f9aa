package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;

/**
 * Reduce-scatter among so many ranks that a slot has no line for each of them: the input of all
 * parts goes through the ring in chunks, one ahead of those that are folded. A rank that owns
 * something of a chunk folds it; everybody waits until all have contributed to it, so that the ring
 * needs no acknowledgement ({@link Lookahead}).
 *
 * <p>Source: as {@link ReduceScatterSliced}. Cost: m &alpha; + s (1 - 1/n) &beta; + s &gamma;, s
 * the whole input, of m chunks. Limits: none. Order of reduction: ranks 0 to n-1.
 */
final class ReduceScatterChunked extends Algorithm {
    ReduceScatterChunked() {
        super(Operation.REDUCE_SCATTER);
    }

    @Override
    boolean fits(Shape shape) {
        return Lookahead.possible(shape.limits());
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Slices chunks = Slices.atMost(shape.inBytes(), shape.limits().ringSlotBytes());
        Call call = new Call(shape, rank, steps, chunks, Staging.ring(shape.limits()));
        Lookahead.order(chunks.parts(), shape.limits(), call::contribute, call::fold);
        return chunks.parts();
    }

    private record Call(Shape shape, int rank, ScheduleBuilder steps, Slices chunks, Staging ring) {

        /** Where in the whole input rank {@code owner}'s share of a chunk begins. */
        long from(int chunk, int owner) {
            return Math.max(chunks.start(chunk), owner * shape.bytes());
        }

        long length(int chunk, int owner) {
            long end = Math.min(chunks.start(chunk + 1), (owner + 1) * shape.bytes());
            return Math.max(0, end - from(chunk, owner));
        }

        Ref staged(int writer, int chunk, int owner) {
            return ring.of(writer, chunk).plus(from(chunk, owner) - chunks.start(chunk));
        }

        void contribute(int chunk) {
            int last = (int) ((chunks.start(chunk + 1) - 1) / shape.bytes());
            for (int q = (int) (chunks.start(chunk) / shape.bytes()); q <= last; q++) {
                if (q != rank) {
                    Ref src = steps.in(from(chunk, q));
                    steps.put(src, staged(rank, chunk, q), length(chunk, q), q);
                }
            }
            steps.signal(Flags.CONTRIBUTED, chunk + 1, steps.others());
        }

        void fold(int chunk) {
            steps.awaitAll(steps.othersFromNext(), Flags.CONTRIBUTED, chunk + 1);
            long length = length(chunk, rank);
            if (length == 0) {
                return;
            }
            long at = from(chunk, rank);
            List<Ref> sources = steps.contributions(at, q -> staged(q, chunk, rank));
            steps.fold(steps.out(at - rank * shape.bytes()), sources, length);
        }
    }
}
