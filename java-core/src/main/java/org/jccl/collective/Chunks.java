package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * What a rank sends, cut into chunks, and where they are staged: in the slots of the ring in turn,
 * or in one slot of the call's parity that everything fits into. Where it sends a part to each
 * rank, the chunks of the same number of all parts lie side by side in one slot.
 *
 * <p>Where there is a root, readers say that they have taken a chunk before its slot is used again.
 *
 * @param cut of what it sends, or of each part
 * @param stride from a place in a slot to the next one; parts have one each, else the own chunk has
 *     the first
 */
record Chunks(Shape shape, Slices cut, Staging staging, long stride) implements Pieces {
    /** Root and readers of a broadcast work at the same time only if there are several chunks. */
    private static final int CHUNKS_WANTED = 8;

    /** Below this the signals cost more than overlapping gains. */
    private static final int LEAST_CHUNK_BYTES = 16384;

    /** The chunks of a call that reduces nothing. */
    static Chunks of(Shape shape) {
        return shape.operation().in() == Operation.Parts.EACH ? ofParts(shape) : ofWhole(shape);
    }

    private static Chunks ofWhole(Shape shape) {
        long bytes = shape.bytes();
        // All-gathers that fit into one slot are Flat, and so are broadcasts not worth overlapping.
        Staging staging =
                shape.operation() == Operation.GATHER
                        ? Staging.oneChunk(bytes, shape.limits())
                        : Staging.ring(shape.limits());
        long most = staging.slotBytes();
        if (shape.operation() == Operation.BROADCAST) {
            most = Math.min(most, Math.max(LEAST_CHUNK_BYTES, bytes / CHUNKS_WANTED));
        }
        return new Chunks(shape, Slices.atMost(bytes, most), staging, 0);
    }

    /** The one chunk of a call whose input fits into a slot. */
    static Chunks one(Shape shape) {
        Staging slot = Staging.oneChunk(shape.bytes(), shape.limits());
        return new Chunks(shape, Slices.ofEach(shape.bytes(), shape.bytes()), slot, 0);
    }

    /** The chunks of a call in which a rank sends a part to each. */
    static Chunks ofParts(Shape shape) {
        int n = shape.nRanks();
        long bytes = shape.bytes();
        if (inOneSlot(shape)) {
            // Each part begins at a line where there is room for that.
            boolean aligned = n * Slices.align(bytes) <= shape.limits().directBytes();
            long stride = aligned ? Slices.align(bytes) : bytes;
            Staging slot = Staging.oneChunk(n * stride, shape.limits());
            return new Chunks(shape, Slices.ofEach(bytes, bytes), slot, stride);
        }
        long most = largest(shape);
        long unit = most % Slices.LINE_BYTES == 0 ? Slices.LINE_BYTES : shape.elementBytes();
        long wanted = Math.ceilDiv(bytes, most);
        long each = Math.ceilDiv(Math.ceilDiv(bytes, unit), wanted) * unit;
        return new Chunks(shape, Slices.ofEach(bytes, each), Staging.ring(shape.limits()), each);
    }

    /** The chunks of a call in whose slots of the ring each place has at most so many bytes. */
    static Chunks inRing(Shape shape, long mostBytes) {
        Slices cut = Slices.atMost(shape.bytes(), mostBytes);
        return new Chunks(shape, cut, Staging.ring(shape.limits()), cut.stride());
    }

    /** Whether all parts fit into one slot. */
    static boolean inOneSlot(Shape shape) {
        return shape.nRanks() * shape.bytes() <= shape.limits().directBytes();
    }

    /**
     * The bytes of each part that a slot of the ring has room for: whole lines where there is room
     * for one, else elements.
     */
    static long largest(Shape shape) {
        long each = shape.limits().ringSlotBytes() / shape.nRanks();
        long unit = each < Slices.LINE_BYTES ? shape.elementBytes() : Slices.LINE_BYTES;
        return each / unit * unit;
    }

    @Override
    public long at(int chunk, int owner) {
        return shape.inStart(owner) + cut.start(chunk);
    }

    @Override
    public long length(int chunk, int owner) {
        return cut.length(chunk);
    }

    /** A place in the slot that {@code writer} has for a chunk. */
    @Override
    public Ref staged(int writer, int chunk, int place) {
        return staging.of(writer, chunk).plus(place * stride);
    }

    private boolean isInParts() {
        return shape.operation().in() == Operation.Parts.EACH;
    }

    /**
     * Writes the steps by which the own rank gives a chunk to these readers and, where nothing is
     * reduced, to itself: of its input, or of its output if it passes on what it has taken.
     */
    void give(ScheduleBuilder steps, int chunk, int[] readers) {
        int rank = steps.rank();
        if (shape.operation().rooted() && chunk >= staging.slots()) {
            steps.awaitAll(readers, Flags.TAKEN, chunk - staging.slots() + 1);
        }
        if (isInParts()) {
            for (int q : readers) {
                put(steps, chunk, q, q);
            }
        } else {
            Ref src = shape.sends(rank) ? steps.in(cut.start(chunk)) : steps.out(cut.start(chunk));
            steps.put(src, staged(rank, chunk, 0), cut.length(chunk), readers);
        }
        steps.signal(Flags.CONTRIBUTED, chunk + 1, readers);
        if (!shape.operation().reduces()) {
            steps.copyOwnPart(cut.start(chunk), cut.length(chunk));
        }
    }

    /** Writes the steps by which the own rank copies what these ranks, ascending, give it. */
    void take(ScheduleBuilder steps, int chunk, int... givers) {
        for (int q : steps.fromNext(givers)) {
            Ref src = staged(q, chunk, isInParts() ? steps.rank() : 0);
            steps.await(q, Flags.CONTRIBUTED, chunk + 1);
            steps.copy(steps.out(shape.outStart(q) + cut.start(chunk)), src, cut.length(chunk));
        }
        if (shape.operation().rooted() && chunk + staging.slots() < count()) {
            steps.signal(Flags.TAKEN, chunk + 1, givers);
        }
    }
}
