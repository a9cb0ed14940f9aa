package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * The root makes each rank's part readable to it, in one slot if the whole input fits, else the
 * same chunk of all parts at a time through its ring; the others say that they have copied a chunk
 * before its slot is used again.
 *
 * <p>Source: the flat tree, pipelined. Cost: &alpha; + s &beta;, s the whole input. Limits: a slot
 * holds an element for each rank. Nothing is reduced.
 */
final class ScatterChunked extends Algorithm {
    ScatterChunked() {
        super(Operation.SCATTER);
    }

    @Override
    boolean fits(Shape shape) {
        return Parts.inOneSlot(shape) || Parts.inElements(shape);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Parts parts = new Parts(shape);
        for (int c = 0; c < parts.chunks(); c++) {
            if (rank == shape.root()) {
                give(shape, steps, parts, c);
            } else {
                take(shape, rank, steps, parts, c);
            }
        }
        return parts.chunks();
    }

    private static void give(Shape shape, ScheduleBuilder steps, Parts parts, int chunk) {
        int root = shape.root();
        if (chunk >= parts.slots()) {
            steps.awaitAll(steps.others(), Flags.TAKEN, chunk - parts.slots() + 1);
        }
        parts.give(steps, root, chunk);
        if (!shape.inPlace()) {
            Ref own = steps.in(parts.at(chunk, root));
            steps.copy(steps.out(parts.start(chunk)), own, parts.length(chunk));
        }
    }

    private static void take(Shape shape, int rank, ScheduleBuilder steps, Parts parts, int chunk) {
        int root = shape.root();
        steps.await(root, Flags.CONTRIBUTED, chunk + 1);
        steps.copy(
                steps.out(parts.start(chunk)),
                parts.staged(root, chunk, rank),
                parts.length(chunk));
        if (chunk + parts.slots() < parts.chunks()) {
            steps.signal(Flags.TAKEN, chunk + 1, root);
        }
    }
}
