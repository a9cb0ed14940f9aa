package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;

/**
 * Every rank owns a slice of each chunk, of a short all-reduce among several nodes only some do
 * ({@link SlicedChunks}): it folds the contributions of all to its slice into its own output, or
 * slot if it receives nothing, and makes the result readable by those that receive, which copy it.
 * A reduce-scatter and an all-gather (of a reduce, a gather) by direct exchange, the stages of
 * three chunks interleaved so that nobody waits for the stage that it has just begun: contribute to
 * chunk c+1, fold chunk c, gather chunk c-1. Serves what reduces.
 *
 * <p>A slot holds the contributions to the others' slices and, in the place of the own slice, its
 * result. Of an all-reduce three slots need no acknowledgement: a rank that contributes to chunk
 * c+3 has gathered chunk c, and by that has seen that its owners folded it; a rank that folds chunk
 * c+3 has heard that everybody contributes to it and so has gathered chunk c.
 *
 * <p>Of a reduce four slots need none: a rank that contributes to chunk c+4 has seen everybody's
 * contributions to chunk c+2, which come after their folds of chunk c; a rank that folds chunk c+4
 * has seen the root's to chunk c+3, which comes after the root has gathered chunk c.
 *
 * <p>In a reduce-scatter a rank owns its part and nobody gathers: either the same chunk of all
 * parts is in a slot, or, among so many ranks that it has no line for each, a chunk of all parts in
 * a row. It needs no acknowledgement either ({@link Lookahead}).
 *
 * <p>Source: Rabenseifner's all-reduce and reduce in their direct form, software-pipelined. Cost: 2
 * &alpha; + s ((2 - 1/n) &beta; + &gamma;); of several chunks only the first waits for an &alpha;;
 * of a reduce-scatter &alpha; + s (1 - 1/n) &beta; + s &gamma;, s the whole input, or m &alpha; for
 * m chunks of all parts in a row. Limits: of more than one chunk, three slots, of a reduce four, of
 * a reduce-scatter two. Order of reduction: ranks 0 to n-1.
 */
final class FoldSliced extends Algorithm {
    private static final int LEAST_SLOTS = 3;
    private static final int LEAST_SLOTS_OF_REDUCE = 4;

    FoldSliced(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        return switch (operation()) {
            case REDUCE_SCATTER -> Chunks.inOneSlot(shape) || Lookahead.possible(shape.limits());
            case REDUCE -> SlicedChunks.possible(shape, LEAST_SLOTS_OF_REDUCE);
            default -> SlicedChunks.possible(shape, LEAST_SLOTS);
        };
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Call call = new Call(shape, rank, steps, pieces(shape));
        int chunks = call.pieces.count();
        if (operation() == Operation.REDUCE_SCATTER) {
            Lookahead.order(chunks, shape.limits(), call::contribute, call::fold);
        } else {
            Lookahead.interleave(chunks, call::contribute, call::fold, call::gather);
        }
        return chunks;
    }

    private Pieces pieces(Shape shape) {
        if (operation() != Operation.REDUCE_SCATTER) {
            return SlicedChunks.of(shape);
        }
        boolean hasLines = Chunks.largest(shape) >= Slices.LINE_BYTES;
        return hasLines || Chunks.inOneSlot(shape) ? Chunks.ofParts(shape) : RowChunks.of(shape);
    }

    private record Call(Shape shape, int rank, ScheduleBuilder steps, Pieces pieces) {

        /** Whether a rank is told of contributions: the owners; of all-reduces nobody else. */
        private boolean hears(int chunk, int q) {
            return shape.operation() != Operation.ALL_REDUCE || pieces.length(chunk, q) > 0;
        }

        /** Whether a rank receives the results of all, not only of what it owns. */
        private boolean gathers(int q) {
            return shape.operation() != Operation.REDUCE_SCATTER && shape.receives(q);
        }

        void contribute(int chunk) {
            for (int q : steps.others()) {
                pieces.put(steps, chunk, q, q);
            }
            steps.signal(Flags.CONTRIBUTED, chunk + 1, steps.others(q -> hears(chunk, q)));
        }

        void fold(int chunk) {
            if (hears(chunk, rank)) {
                steps.awaitAll(steps.fromNext(steps.others()), Flags.CONTRIBUTED, chunk + 1);
            }
            long length = pieces.length(chunk, rank);
            if (length == 0) {
                return;
            }
            long at = pieces.at(chunk, rank);
            Ref staged = pieces.staged(rank, chunk, rank);
            Ref result = shape.receives(rank) ? steps.out(at - shape.inStart(rank)) : staged;
            List<Ref> sources = steps.contributions(at, q -> pieces.staged(q, chunk, rank));
            int[] readers = steps.others(this::gathers);
            steps.fold(result, sources, length);
            steps.put(result, staged, length, readers);
            steps.signal(Flags.REDUCED, chunk + 1, readers);
        }

        void gather(int chunk) {
            if (!gathers(rank)) {
                return;
            }
            for (int q : steps.fromNext(steps.others())) {
                long length = pieces.length(chunk, q);
                if (length > 0) {
                    steps.await(q, Flags.REDUCED, chunk + 1);
                    steps.copy(steps.out(pieces.at(chunk, q)), pieces.staged(q, chunk, q), length);
                }
            }
        }
    }
}
