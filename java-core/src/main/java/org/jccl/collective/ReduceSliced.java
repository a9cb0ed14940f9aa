package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;

/**
 * Every rank owns a slice of each chunk: it folds the contributions of all to its slice in its own
 * slot, and the root copies the results. The stages of three chunks are interleaved: contribute to
 * chunk c+1, fold chunk c, gather chunk c-1 at the root.
 *
 * <p>A slot holds the contributions to the others' slices and, in the place of the own slice, its
 * result. Four slots need no acknowledgement: a rank that contributes to chunk c+4 has seen
 * everybody's contributions to chunk c+2, which come after their folds of chunk c; a rank that
 * folds chunk c+4 has seen the root's to chunk c+3, which comes after the root has gathered chunk
 * c.
 *
 * <p>Source: Rabenseifner's reduce in its direct form, software-pipelined. Cost: 2 &alpha; + s ((2
 * - 1/n) &beta; + &gamma;); of several chunks only the first waits for an &alpha;. Limits: of more
 * than one chunk, four slots. Order of reduction: ranks 0 to n-1.
 */
final class ReduceSliced extends Algorithm {
    private static final int LEAST_SLOTS = 4;

    ReduceSliced() {
        super(Operation.REDUCE);
    }

    @Override
    boolean fits(Shape shape) {
        return SlicedChunks.possible(shape, LEAST_SLOTS);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        SlicedChunks chunks = new SlicedChunks(shape);
        Lookahead.interleave(
                chunks.count(),
                c -> chunks.contribute(steps, rank, c, steps.others()),
                c -> fold(shape.root(), rank, steps, chunks, c),
                c -> {
                    if (rank == shape.root()) {
                        chunks.gather(steps, c);
                    }
                });
        return chunks.count();
    }

    private static void fold(
            int root, int rank, ScheduleBuilder steps, SlicedChunks chunks, int chunk) {
        steps.awaitAll(steps.othersFromNext(), Flags.CONTRIBUTED, chunk + 1);
        long length = chunks.length(chunk, rank);
        long at = chunks.at(chunk, rank);
        List<Ref> sources = steps.contributions(at, q -> chunks.staged(q, chunk, rank));
        if (rank == root) {
            steps.fold(steps.out(at), sources, length);
        } else if (length > 0) {
            Ref result = chunks.staged(rank, chunk, rank);
            steps.fold(result, sources, length);
            steps.put(result, result, length, root);
            steps.signal(Flags.REDUCED, chunk + 1, root);
        }
    }
}
