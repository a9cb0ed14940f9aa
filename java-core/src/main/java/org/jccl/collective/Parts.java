package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Shape;

/**
 * The parts of a buffer that has one for each rank, cut into chunks: chunk c of every part lies in
 * one slot, side by side.
 */
final class Parts {
    private final long bytes;
    private final long chunkBytes;
    private final Staging staging;

    /** The parts of this call. */
    Parts(Shape shape) {
        long all = shape.bytes() * shape.nRanks();
        this.bytes = shape.bytes();
        this.staging = Staging.oneChunk(all, shape.limits());
        this.chunkBytes = all <= staging.slotBytes() ? bytes : largest(shape);
    }

    /** Whether a slot has room for an element of every part. */
    static boolean fit(Shape shape) {
        return largest(shape) > 0;
    }

    /** In whole lines where there is room for one. */
    private static long largest(Shape shape) {
        long each = shape.limits().ringSlotBytes() / shape.nRanks();
        return each < Slices.UNIT_BYTES
                ? each / shape.elementBytes() * shape.elementBytes()
                : each / Slices.UNIT_BYTES * Slices.UNIT_BYTES;
    }

    int chunks() {
        return Math.toIntExact((bytes + chunkBytes - 1) / chunkBytes);
    }

    /** Where in its part a chunk begins. */
    long start(int chunk) {
        return chunk * chunkBytes;
    }

    long length(int chunk) {
        return Math.min(chunkBytes, bytes - start(chunk));
    }

    /** How many slots the chunks take in turn. */
    int slots() {
        return staging.slots();
    }

    /** Where {@code writer} has its chunk for {@code reader}. */
    Ref staged(int writer, int chunk, int reader) {
        return staging.of(writer, chunk).plus(reader * chunkBytes);
    }
}
