package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;

import java.util.ArrayList;
import java.util.List;

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
     * @param from where in an input the range begins
     * @param to where in the own output it begins
     */
    void fold(int[] ranks, long from, long to, long length) {
        boolean last = ranks.length == shape.nRanks();
        long slot = shape.limits().directBytes();
        long piece = slot / ranks.length / Slices.LINE_BYTES * Slices.LINE_BYTES;
        for (long done = 0; done < length; done += piece) {
            long bytes = Math.min(piece, length - done);
            List<Ref> sources = new ArrayList<>();
            for (int i = 0; i < ranks.length; i++) {
                if (ranks[i] == rank) {
                    sources.add(steps.in(from + done));
                    continue;
                }
                Ref copy = new Ref(Space.DIRECT, rank, i * piece);
                steps.copy(copy, steps.in(ranks[i], from + done), bytes);
                sources.add(copy);
            }
            steps.add(new Step.Fold(steps.out(to + done), sources, bytes, last));
        }
    }
}
