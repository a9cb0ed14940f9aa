package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Shape;

/**
 * The parts of an input in a row, cut into chunks that fill a slot of the ring: for so many ranks
 * that a slot has no line for each of them. A rank owns what is of its part.
 */
record RowChunks(long partBytes, Slices cut, Staging ring) implements Pieces {

    /** The chunks of this call. */
    static RowChunks of(Shape shape) {
        Staging ring = Staging.ring(shape.limits());
        return new RowChunks(shape.bytes(), Slices.atMost(shape.inBytes(), ring.slotBytes()), ring);
    }

    @Override
    public long at(int chunk, int owner) {
        return Math.max(cut.start(chunk), owner * partBytes);
    }

    @Override
    public long length(int chunk, int owner) {
        long end = Math.min(cut.start(chunk + 1), (owner + 1) * partBytes);
        return Math.max(0, end - at(chunk, owner));
    }

    @Override
    public Ref staged(int writer, int chunk, int owner) {
        return ring.of(writer, chunk).plus(at(chunk, owner) - cut.start(chunk));
    }
}
