package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Shape;

/**
 * A message cut into chunks, and each chunk into a slice for every rank, which owns it. A slot
 * holds a chunk. A slice has the same place in every slot, also where chunks differ by a line: a
 * contribution never covers an earlier chunk's result. A chunk has owners for as many ranks as it
 * has lines; the others own nothing of it.
 *
 * @param places the slices of a slot
 */
record SlicedChunks(int nRanks, Staging staging, Slices cut, Slices places) implements Pieces {

    /** The chunks of this call. */
    static SlicedChunks of(Shape shape) {
        Staging staging = Staging.oneChunk(shape.bytes(), shape.limits());
        Slices cut = Slices.atMost(shape.bytes(), staging.slotBytes());
        Slices places = new Slices(cut.stride(), shape.nRanks());
        return new SlicedChunks(shape.nRanks(), staging, cut, places);
    }

    /** Whether there is one chunk only, or the ring has at least so many slots. */
    static boolean possible(Shape shape, int leastSlots) {
        return shape.limits().ringSlots() >= leastSlots || of(shape).count() == 1;
    }

    @Override
    public long length(int chunk, int owner) {
        return slices(chunk).length(owner);
    }

    @Override
    public long at(int chunk, int owner) {
        return cut.start(chunk) + slices(chunk).start(owner);
    }

    private Slices slices(int chunk) {
        return new Slices(cut.length(chunk), nRanks);
    }

    @Override
    public Ref staged(int writer, int chunk, int owner) {
        return staging.of(writer, chunk).plus(places.start(owner));
    }
}
