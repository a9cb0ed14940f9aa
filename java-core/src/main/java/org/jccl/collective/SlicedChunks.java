package org.jccl.collective;

import org.jccl.schedule.Limits;
import org.jccl.schedule.Nodes;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.stream.IntStream;

/**
 * A message cut into chunks, and each chunk into slices, of which a rank owns one or none. A slot
 * holds a chunk. A slice has the same place in every slot, also where chunks differ by a line: a
 * contribution never covers an earlier chunk's result. A chunk has owners for as many ranks as it
 * has lines; in an all-reduce among several nodes only for as many as the whole message has pieces
 * that are worth a message over a wire, since every other node has one for each, and one from each.
 * These are on all nodes in turn.
 *
 * @param places by rank, which slice it owns
 * @param owners how many slices there are
 * @param slots the slices of a slot
 */
@SuppressWarnings("ArrayRecordComponent") // made once, nobody changes them
record SlicedChunks(int[] places, int owners, Staging staging, Slices cut, Slices slots)
        implements Pieces {

    /** The chunks of this call. */
    static SlicedChunks of(Shape shape) {
        Limits limits = shape.limits();
        Staging staging = Staging.oneChunk(shape.bytes(), limits);
        Slices cut = Slices.atMost(shape.bytes(), staging.slotBytes());
        int n = shape.nRanks();
        long worth = Math.max(1, Math.ceilDiv(shape.bytes(), limits.smallBytes()));
        boolean relayed = shape.operation() == Operation.ALL_REDUCE && shape.nodes().deep();
        boolean few = relayed && worth < n;
        int owners = few ? (int) worth : n;
        int[] places = few ? placesOnNodes(shape.nodes()) : IntStream.range(0, n).toArray();
        return new SlicedChunks(places, owners, staging, cut, new Slices(cut.stride(), owners));
    }

    /**
     * By rank, its place where nodes come in turn, with another of their ranks each: owners whose
     * places in their nodes are the same would have the same agents.
     */
    private static int[] placesOnNodes(Nodes nodes) {
        int[] places = new int[nodes.nRanks()];
        int next = 0;
        for (int i = 0; next < places.length; i++) {
            for (int node = 0; node < nodes.count(); node++) {
                int[] ranks = nodes.ranks(node);
                if (i < ranks.length) {
                    places[ranks[(i + node) % ranks.length]] = next++;
                }
            }
        }
        return places;
    }

    /** Whether there is one chunk only, or the ring has at least so many slots. */
    static boolean possible(Shape shape, int leastSlots) {
        return shape.limits().ringSlots() >= leastSlots || of(shape).count() == 1;
    }

    @Override
    public long length(int chunk, int owner) {
        return owns(owner) ? slices(chunk).length(places[owner]) : 0;
    }

    private boolean owns(int rank) {
        return places[rank] < owners;
    }

    @Override
    public long at(int chunk, int owner) {
        return cut.start(chunk) + slices(chunk).start(Math.min(places[owner], owners));
    }

    private Slices slices(int chunk) {
        return new Slices(cut.length(chunk), owners);
    }

    @Override
    public Ref staged(int writer, int chunk, int owner) {
        return staging.of(writer, chunk).plus(slots.start(Math.min(places[owner], owners)));
    }
}
