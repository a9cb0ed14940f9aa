package org.jccl.collective;

import org.jccl.schedule.Limits;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Space;

/**
 * Where a call's chunks are staged. One chunk goes to a slot of the call's parity, so that the next
 * call need not wait for this one's readers; more go round the ring.
 *
 * @param space which area
 * @param slots slots of it
 * @param slotBytes size of a slot
 */
record Staging(Space space, int slots, int slotBytes) {

    /** A slot of the call's parity if it is large enough for the whole message, else the ring. */
    static Staging oneChunk(long bytes, Limits limits) {
        if (bytes <= limits.smallBytes()) {
            return new Staging(Space.SMALL, 1, limits.smallBytes());
        }
        if (bytes <= limits.directBytes()) {
            return new Staging(Space.DIRECT, 1, limits.directBytes());
        }
        return ring(limits);
    }

    /** The ring, for many chunks. */
    static Staging ring(Limits limits) {
        return new Staging(Space.RING, limits.ringSlots(), limits.ringSlotBytes());
    }

    /** Place of a rank's slot for {@code chunk}. */
    Ref of(int rank, int chunk) {
        return new Ref(space, rank, (long) (chunk % slots) * slotBytes);
    }
}
