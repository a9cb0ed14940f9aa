package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Shape;

import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * A message cut into chunks, and each chunk into a slice for every rank, which owns it. A slot
 * holds a chunk. A slice has the same place in every slot, also where chunks differ by a line: a
 * contribution never covers an earlier chunk's result. A chunk has owners for as many ranks as it
 * has lines; the others own nothing of it.
 *
 * @param sliceOf by rank, the number of its slice
 * @param places the slices of a slot
 */
@SuppressWarnings("ArrayRecordComponent") // made once, nobody changes it
record SlicedChunks(int[] sliceOf, Staging staging, Slices cut, Slices places) implements Pieces {
    /** The slice of a rank that owns none: it is empty. */
    private static final int NONE = -1;

    /** The chunks of this call. */
    static SlicedChunks of(Shape shape) {
        return of(shape, shape.nRanks(), q -> q);
    }

    /** The same, where only the first rank of each node owns slices. */
    static SlicedChunks ofNodes(Shape shape) {
        Nodes nodes = shape.nodes();
        IntUnaryOperator node = q -> nodes.first(nodes.of(q)) == q ? nodes.of(q) : NONE;
        return of(shape, nodes.count(), node);
    }

    private static SlicedChunks of(Shape shape, int owners, IntUnaryOperator sliceOf) {
        Staging staging = Staging.oneChunk(shape.bytes(), shape.limits());
        Slices cut = Slices.atMost(shape.bytes(), staging.slotBytes());
        Slices places = new Slices(cut.stride(), owners);
        int[] slices = IntStream.range(0, shape.nRanks()).map(sliceOf).toArray();
        return new SlicedChunks(slices, staging, cut, places);
    }

    /** Whether there is one chunk only, or the ring has at least so many slots. */
    static boolean possible(Shape shape, int leastSlots) {
        return shape.limits().ringSlots() >= leastSlots || of(shape).count() == 1;
    }

    @Override
    public long length(int chunk, int owner) {
        return sliceOf[owner] == NONE ? 0 : slices(chunk).length(sliceOf[owner]);
    }

    @Override
    public long at(int chunk, int owner) {
        return cut.start(chunk) + slices(chunk).start(Math.max(0, sliceOf[owner]));
    }

    private Slices slices(int chunk) {
        return new Slices(cut.length(chunk), places.parts());
    }

    @Override
    public Ref staged(int writer, int chunk, int owner) {
        return staging.of(writer, chunk).plus(places.start(Math.max(0, sliceOf[owner])));
    }
}
