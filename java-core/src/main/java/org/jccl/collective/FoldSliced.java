package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;

/**
 * Every rank owns a slice of each chunk: it folds the contributions of all to its slice into its
 * own output, or slot if it receives nothing, and makes the result readable by those that receive,
 * which copy it. A reduce-scatter and an all-gather (of a reduce, a gather) by direct exchange, the
 * stages of three chunks interleaved so that nobody waits for the stage that it has just begun:
 * contribute to chunk c+1, fold chunk c, gather chunk c-1. Serves all-reduce and reduce.
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
 * <p>Source: Rabenseifner's all-reduce and reduce in their direct form, software-pipelined. Cost: 2
 * &alpha; + s ((2 - 1/n) &beta; + &gamma;); of several chunks only the first waits for an &alpha;.
 * Limits: of more than one chunk, three or four slots. Order of reduction: ranks 0 to n-1.
 */
final class FoldSliced extends Algorithm {
    private static final int LEAST_SLOTS = 3;
    private static final int LEAST_SLOTS_OF_REDUCE = 4;

    FoldSliced(Operation operation) {
        super(operation);
    }

    @Override
    boolean fits(Shape shape) {
        boolean reduce = operation() == Operation.REDUCE;
        return SlicedChunks.possible(shape, reduce ? LEAST_SLOTS_OF_REDUCE : LEAST_SLOTS);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        SlicedChunks chunks = new SlicedChunks(shape);
        Call call = new Call(shape, rank, steps, chunks);
        Lookahead.interleave(chunks.count(), call::contribute, call::fold, call::gather);
        return chunks.count();
    }

    private record Call(Shape shape, int rank, ScheduleBuilder steps, SlicedChunks chunks) {

        /** Whether a rank is told of contributions: the owners; of a reduce all, see above. */
        private boolean hears(int chunk, int q) {
            return shape.operation() == Operation.REDUCE || chunks.length(chunk, q) > 0;
        }

        void contribute(int chunk) {
            for (int q : steps.others()) {
                Ref src = steps.in(chunks.at(chunk, q));
                steps.put(src, chunks.staged(rank, chunk, q), chunks.length(chunk, q), q);
            }
            steps.signal(Flags.CONTRIBUTED, chunk + 1, steps.others(q -> hears(chunk, q)));
        }

        void fold(int chunk) {
            if (hears(chunk, rank)) {
                steps.awaitAll(steps.othersFromNext(), Flags.CONTRIBUTED, chunk + 1);
            }
            long length = chunks.length(chunk, rank);
            if (length == 0) {
                return;
            }
            long at = chunks.at(chunk, rank);
            Ref staged = chunks.staged(rank, chunk, rank);
            Ref result = shape.receives(rank) ? steps.out(at) : staged;
            List<Ref> sources = steps.contributions(at, q -> chunks.staged(q, chunk, rank));
            int[] readers = steps.others(shape::receives);
            steps.fold(result, sources, length);
            steps.put(result, staged, length, readers);
            steps.signal(Flags.REDUCED, chunk + 1, readers);
        }

        void gather(int chunk) {
            if (!shape.receives(rank)) {
                return;
            }
            for (int q : steps.othersFromNext()) {
                long length = chunks.length(chunk, q);
                if (length > 0) {
                    steps.await(q, Flags.REDUCED, chunk + 1);
                    Ref dst = steps.out(chunks.at(chunk, q));
                    steps.copy(dst, chunks.staged(q, chunk, q), length);
                }
            }
        }
    }
}
