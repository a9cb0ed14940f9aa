package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Shape;

/**
 * A message cut into chunks, and each chunk into a slice for every rank, which owns it. A slot
 * holds a chunk. A slice has the same place in every slot, also where chunks differ by a line: a
 * contribution never covers an earlier chunk's result. A chunk has owners for as many ranks as it
 * has lines; the others own nothing of it.
 */
final class SlicedChunks {
    private final int nRanks;
    private final Staging staging;
    private final Slices chunks;
    private final Slices places;

    /** The chunks of this call. */
    SlicedChunks(Shape shape) {
        nRanks = shape.nRanks();
        staging = Staging.oneChunk(shape.bytes(), shape.limits());
        chunks = Slices.atMost(shape.bytes(), staging.slotBytes());
        places = new Slices(chunks.stride(), nRanks);
    }

    /** Whether there is one chunk only, or the ring has at least so many slots. */
    static boolean possible(Shape shape, int leastSlots) {
        return shape.limits().ringSlots() >= leastSlots || new SlicedChunks(shape).count() == 1;
    }

    int count() {
        return chunks.parts();
    }

    /** Bytes of a rank's slice of a chunk. */
    long length(int chunk, int owner) {
        return slices(chunk).length(owner);
    }

    /** Where in the message a rank's slice of a chunk begins. */
    long at(int chunk, int owner) {
        return chunks.start(chunk) + slices(chunk).start(owner);
    }

    private Slices slices(int chunk) {
        return new Slices(chunks.length(chunk), nRanks);
    }

    /** Where rank {@code owner}'s slice of a chunk lies in the slot of rank {@code writer}. */
    Ref staged(int writer, int chunk, int owner) {
        return staging.of(writer, chunk).plus(places.start(owner));
    }
}
