package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * The root sends its input through its ring in chunks; the others copy them while the next is
 * coming, and say so before the root uses a slot again.
 *
 * <p>Source: the flat tree, pipelined. Cost: &alpha; + s &beta; (1 + 1/m) (over TCP, at the root,
 * (n-1) s &beta;). Limits: none. Nothing is reduced.
 */
final class BroadcastChunked extends Algorithm {
    /** Root and readers work at the same time only if there are several chunks. */
    private static final int CHUNKS_WANTED = 8;

    /** Below this the signals cost more than overlapping gains. */
    private static final int LEAST_CHUNK_BYTES = 16384;

    BroadcastChunked() {
        super(Operation.BROADCAST);
    }

    @Override
    boolean fits(Shape shape) {
        return fitsInRing(shape);
    }

    static boolean fitsInRing(Shape shape) {
        return shape.limits().flags() > Flags.TAKEN
                && shape.limits().ringSlotBytes() >= Slices.UNIT_BYTES;
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Slices chunks = chunks(shape);
        Staging ring = Staging.ring(shape.limits());
        for (int c = 0; c < chunks.parts(); c++) {
            if (rank == shape.root()) {
                send(shape, steps, chunks, ring, c);
            } else {
                take(shape, steps, chunks, ring, c);
            }
        }
        return chunks.parts();
    }

    /** Chunks so many that readers and root work at the same time. */
    static Slices chunks(Shape shape) {
        long wanted = Math.max(LEAST_CHUNK_BYTES, shape.bytes() / CHUNKS_WANTED);
        return Slices.atMost(shape.bytes(), Math.min(wanted, shape.limits().ringSlotBytes()));
    }

    private static void send(
            Shape shape, ScheduleBuilder steps, Slices chunks, Staging ring, int c) {
        if (c >= ring.slots()) {
            for (int q : steps.others()) {
                steps.await(q, Flags.TAKEN, c - ring.slots() + 1);
            }
        }
        long at = chunks.start(c);
        steps.put(steps.in(at), ring.of(shape.root(), c), chunks.length(c), steps.others());
        steps.signal(Flags.CONTRIBUTED, c + 1, steps.others());
        if (!shape.inPlace()) {
            steps.copy(steps.out(at), steps.in(at), chunks.length(c));
        }
    }

    private static void take(
            Shape shape, ScheduleBuilder steps, Slices chunks, Staging ring, int c) {
        steps.await(shape.root(), Flags.CONTRIBUTED, c + 1);
        steps.copy(steps.out(chunks.start(c)), ring.of(shape.root(), c), chunks.length(c));
        boolean slotUsedAgain = c + ring.slots() < chunks.parts();
        if (slotUsedAgain) {
            steps.signal(Flags.TAKEN, c + 1, shape.root());
        }
    }
}
