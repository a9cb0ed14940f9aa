package org.jccl.schedule;

/**
 * The sizes of a rank's region that schedules are made for; equal on all ranks of a communicator.
 *
 * @param tinyBytes payload of a tiny message, of which there is room for one a parity
 * @param smallBytes size of {@link Space#SMALL}
 * @param directBytes size of {@link Space#DIRECT}
 * @param ringSlotBytes size of one slot of {@link Space#RING}
 * @param ringSlots slots of {@link Space#RING}
 * @param flags number of flag words of a rank
 */
public record Limits(
        int tinyBytes,
        int smallBytes,
        int directBytes,
        int ringSlotBytes,
        int ringSlots,
        int flags) {

    public Limits {
        positive(tinyBytes, "tinyBytes");
        positive(smallBytes, "smallBytes");
        positive(directBytes, "directBytes");
        positive(ringSlotBytes, "ringSlotBytes");
        positive(ringSlots, "ringSlots");
        positive(flags, "flags");
    }

    /** Bytes of one rank's {@code space}, which is an area. */
    public long areaBytes(Space space) {
        return switch (space) {
            case SMALL -> smallBytes;
            case DIRECT -> directBytes;
            case RING -> (long) ringSlots * ringSlotBytes;
            case IN, OUT -> throw new IllegalArgumentException(space + " is no area");
        };
    }

    private static void positive(int value, String name) {
        if (value <= 0) {
            throw new IllegalArgumentException(name + " is " + value);
        }
    }
}
