package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;

/**
 * Every rank owns a slice of each chunk: it folds the contributions of all to its slice into its
 * own output and makes the result readable, and the others copy it. A reduce-scatter and an
 * all-gather by direct exchange, the stages of three chunks interleaved so that nobody waits for
 * the stage that it has just begun: contribute to chunk c+1, fold chunk c, gather chunk c-1.
 *
 * <p>A slot holds the contributions to the others' slices and, in the place of the own slice, its
 * result. Three slots need no acknowledgement: a rank that contributes to chunk c+3 has gathered
 * chunk c, and by that has seen that its owners folded it; a rank that folds chunk c+3 has heard
 * that everybody contributes to it and so has gathered chunk c.
 *
 * <p>Source: Rabenseifner's all-reduce in its direct form, software-pipelined. Cost: 2 &alpha; + s
 * ((2 - 1/n) &beta; + &gamma;); of several chunks only the first waits for an &alpha;. Limits: of
 * more than one chunk, three slots. Order of reduction: ranks 0 to n-1.
 */
final class AllReduceSliced extends Algorithm {
    private static final int LEAST_SLOTS = 3;

    AllReduceSliced() {
        super(Operation.ALL_REDUCE);
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
                c -> chunks.contribute(steps, rank, c, steps.others(q -> chunks.length(c, q) > 0)),
                c -> fold(rank, steps, chunks, c),
                c -> chunks.gather(steps, c));
        return chunks.count();
    }

    private static void fold(int rank, ScheduleBuilder steps, SlicedChunks chunks, int chunk) {
        long length = chunks.length(chunk, rank);
        if (length == 0) {
            return;
        }
        long at = chunks.at(chunk, rank);
        List<Ref> sources = steps.contributions(at, q -> chunks.staged(q, chunk, rank));
        steps.awaitAll(steps.othersFromNext(), Flags.CONTRIBUTED, chunk + 1);
        steps.fold(steps.out(at), sources, length);
        steps.put(steps.out(at), chunks.staged(rank, chunk, rank), length, steps.others());
        steps.signal(Flags.REDUCED, chunk + 1, steps.others());
    }
}
