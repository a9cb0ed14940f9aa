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
    RING;

    /** Whether this is a part of a rank's region, which other ranks can read. */
    public boolean isArea() {
        return this == SMALL || this == DIRECT || this == RING;
    }
}
