package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Folds what the callers of several ranks have in their inputs: piece by piece, each copied into
 * the own direct slot first, so that it is still in the cache when it is folded.
 */
record Pulls(Shape shape, int rank, ScheduleBuilder steps) {
    /** Whether the slot has room for a line of each rank. */
    static boolean possible(Shape shape) {
        return shape.limits().directBytes() / shape.nRanks() >= Slices.LINE_BYTES;
    }

    /**
     * Folds a range of the inputs of these ranks, which are readable, in their order.
     *
     * @param ranks ascending
     * @param from where in an input the range begins
     * @param to where in the own output it begins
     */
    void fold(int[] ranks, long from, long to, long length) {
        boolean last = ranks.length == shape.nRanks();
        long slot = shape.limits().directBytes();
        long piece = slot / ranks.length / Slices.LINE_BYTES * Slices.LINE_BYTES;
        IntFunction<Ref> place =
                q -> new Ref(Space.DIRECT, rank, Arrays.binarySearch(ranks, q) * piece);
        for (long done = 0; done < length; done += piece) {
            long bytes = Math.min(piece, length - done);
            for (int q : ranks) {
                if (q != rank) {
                    steps.copy(place.apply(q), steps.in(q, from + done), bytes);
                }
            }
            List<Ref> sources = steps.contributions(ranks, steps.in(from + done), place);
            steps.add(new Step.Fold(steps.out(to + done), sources, bytes, last));
        }
    }
}
