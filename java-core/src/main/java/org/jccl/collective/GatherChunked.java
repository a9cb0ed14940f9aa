package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * Everybody makes its input readable to the root, in one slot if it fits, else in chunks through
 * its ring; the root says that it has copied a chunk of everybody before its slot is used again.
 *
 * <p>Source: the flat tree, pipelined. Cost: &alpha; + (n-1) s &beta;, s a rank's bytes. Limits:
 * none. Nothing is reduced.
 */
final class GatherChunked extends Algorithm {
    GatherChunked() {
        super(Operation.GATHER);
    }

    @Override
    boolean fits(Shape shape) {
        return true;
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Staging staging = Staging.oneChunk(shape.bytes(), shape.limits());
        Slices chunks = Slices.atMost(shape.bytes(), staging.slotBytes());
        for (int c = 0; c < chunks.parts(); c++) {
            if (rank == shape.root()) {
                take(shape, steps, staging, chunks, c);
            } else {
                give(shape, rank, steps, staging, chunks, c);
            }
        }
        return chunks.parts();
    }

    private static void give(
            Shape shape, int rank, ScheduleBuilder steps, Staging staging, Slices chunks, int c) {
        int root = shape.root();
        if (c >= staging.slots()) {
            steps.await(root, Flags.TAKEN, c - staging.slots() + 1);
        }
        steps.put(steps.in(chunks.start(c)), staging.of(rank, c), chunks.length(c), root);
        steps.signal(Flags.CONTRIBUTED, c + 1, root);
    }

    private static void take(
            Shape shape, ScheduleBuilder steps, Staging staging, Slices chunks, int c) {
        long from = chunks.start(c);
        long length = chunks.length(c);
        if (!shape.inPlace()) {
            long own = shape.root() * shape.bytes() + from;
            steps.copy(steps.out(own), steps.in(from), length);
        }
        for (int q : steps.othersFromNext()) {
            steps.await(q, Flags.CONTRIBUTED, c + 1);
            steps.copy(steps.out(q * shape.bytes() + from), staging.of(q, c), length);
        }
        if (c + staging.slots() < chunks.parts()) {
            steps.signal(Flags.TAKEN, c + 1, steps.others());
        }
    }
}
