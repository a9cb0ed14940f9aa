package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;

/**
 * The parts of a buffer, one for each rank, cut into chunks of equal length except the last. The
 * chunks of the same number of all parts lie side by side in one slot.
 */
final class Parts {
    private final long bytes;
    private final long chunkBytes;
    private final long stride;
    private final int chunks;
    private final Staging staging;

    /** The parts of this call. */
    Parts(Shape shape) {
        int n = shape.nRanks();
        bytes = shape.bytes();
        if (inOneSlot(shape)) {
            // Each part begins at a line where there is room for that.
            boolean aligned = n * Slices.align(bytes) <= shape.limits().directBytes();
            stride = aligned ? Slices.align(bytes) : bytes;
            chunkBytes = bytes;
            staging = Staging.oneChunk(n * stride, shape.limits());
        } else {
            long most = largest(shape);
            long wanted = (bytes + most - 1) / most;
            long unit = most % Slices.UNIT_BYTES == 0 ? Slices.UNIT_BYTES : shape.elementBytes();
            long units = (bytes + unit - 1) / unit;
            chunkBytes = (units + wanted - 1) / wanted * unit;
            stride = chunkBytes;
            staging = Staging.ring(shape.limits());
        }
        chunks = Math.toIntExact((bytes + chunkBytes - 1) / chunkBytes);
    }

    /** Whether all parts fit into one slot. */
    static boolean inOneSlot(Shape shape) {
        return shape.nRanks() * shape.bytes() <= shape.limits().directBytes();
    }

    /** Whether a slot of the ring has room for an element of every part. */
    static boolean inElements(Shape shape) {
        return largest(shape) > 0;
    }

    /** Whether it has room for a line of every part. */
    static boolean inLines(Shape shape) {
        return largest(shape) >= Slices.UNIT_BYTES;
    }

    /** The bytes of a part that a slot has room for: whole lines where there is room for one. */
    private static long largest(Shape shape) {
        long each = shape.limits().ringSlotBytes() / shape.nRanks();
        long unit = each < Slices.UNIT_BYTES ? shape.elementBytes() : Slices.UNIT_BYTES;
        return each / unit * unit;
    }

    int chunks() {
        return chunks;
    }

    /** Where in its part a chunk begins. */
    long start(int chunk) {
        return chunk * chunkBytes;
    }

    long length(int chunk) {
        return Math.min(chunkBytes, bytes - start(chunk));
    }

    /** Where a chunk of the part of {@code owner} begins in the whole buffer. */
    long at(int chunk, int owner) {
        return owner * bytes + start(chunk);
    }

    /** How many slots the chunks take in turn. */
    int slots() {
        return staging.slots();
    }

    /** Where {@code writer} has its chunk for {@code reader}. */
    Ref staged(int writer, int chunk, int reader) {
        return staging.of(writer, chunk).plus(reader * stride);
    }

    /** Writes the steps by which {@code rank} gives a chunk of its input to all others. */
    void give(ScheduleBuilder steps, int rank, int chunk) {
        for (int q : steps.others()) {
            steps.put(steps.in(at(chunk, q)), staged(rank, chunk, q), length(chunk), q);
        }
        steps.signal(Flags.CONTRIBUTED, chunk + 1, steps.others());
    }
}
