package org.jccl.schedule;

/** Where a {@link Ref} points to. */
public enum Space {
    /** The caller's input buffer. */
    IN,
    /** The caller's output buffer; the same memory as (a part of) {@link #IN} when in place. */
    OUT,
    /** A rank's slot for small messages of this call's parity: {@link Limits#smallBytes}. */
    SMALL,
    /** A rank's slot for one larger message of this call's parity: {@link Limits#directBytes}. */
    DIRECT,
    /** A rank's ring: {@link Limits#ringSlots} slots of {@link Limits#ringSlotBytes} each. */
    RING,
    /** In a loop: that of a sender's slots for its receiver which belongs to the round's chunk. */
    FIFO;

    /** Whether this is a part of a rank's region, which other ranks can read. */
    public boolean isArea() {
        return this != IN && this != OUT;
    }
}
