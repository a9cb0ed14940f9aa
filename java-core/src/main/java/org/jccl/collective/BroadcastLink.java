package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;

/**
 * A rank's part of a broadcast in chunks: it takes each from its source, unless it is the root, and
 * gives it to its readers through its ring. Readers say that they have copied a chunk before its
 * slot is used again.
 */
final class BroadcastLink {
    /** Root and readers work at the same time only if there are several chunks. */
    private static final int CHUNKS_WANTED = 8;

    /** Below this the signals cost more than overlapping gains. */
    private static final int LEAST_CHUNK_BYTES = 16384;

    private final Shape shape;
    private final int rank;
    private final ScheduleBuilder steps;
    private final Slices chunks;
    private final Staging ring;

    /** The part of {@code rank}, whose steps it writes to {@code steps}. */
    BroadcastLink(Shape shape, int rank, ScheduleBuilder steps) {
        this.shape = shape;
        this.rank = rank;
        this.steps = steps;
        this.ring = Staging.ring(shape.limits());
        long wanted = Math.max(LEAST_CHUNK_BYTES, shape.bytes() / CHUNKS_WANTED);
        this.chunks =
                Slices.atMost(shape.bytes(), Math.min(wanted, shape.limits().ringSlotBytes()));
    }

    /**
     * Writes the steps.
     *
     * @param source the rank from which this one takes the chunks; the root itself
     * @param readers the ranks that read them from this one, ascending
     * @return the sequence numbers of the call
     */
    int write(int source, int[] readers) {
        for (int c = 0; c < chunks.parts(); c++) {
            if (rank != source) {
                take(c, source);
            }
            give(c, readers);
        }
        return chunks.parts();
    }

    private void take(int chunk, int source) {
        steps.await(source, Flags.CONTRIBUTED, chunk + 1);
        Ref result = steps.out(chunks.start(chunk));
        steps.copy(result, ring.of(source, chunk), chunks.length(chunk));
        boolean slotUsedAgain = chunk + ring.slots() < chunks.parts();
        if (slotUsedAgain) {
            steps.signal(Flags.TAKEN, chunk + 1, source);
        }
    }

    private void give(int chunk, int[] readers) {
        if (chunk >= ring.slots()) {
            steps.awaitAll(readers, Flags.TAKEN, chunk - ring.slots() + 1);
        }
        long at = chunks.start(chunk);
        long length = chunks.length(chunk);
        boolean root = rank == shape.root();
        steps.put(root ? steps.in(at) : steps.out(at), ring.of(rank, chunk), length, readers);
        steps.signal(Flags.CONTRIBUTED, chunk + 1, readers);
        if (root && !shape.inPlace()) {
            steps.copy(steps.out(at), steps.in(at), length);
        }
    }
}
