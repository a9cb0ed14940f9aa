package org.jccl.schedule;

/**
 * The sizes of a rank's region that schedules are made for; equal on all ranks of a communicator.
 * Sizes in bytes are whole cache lines.
 *
 * @param tinyBytes payload of a tiny message; there is room for one of each parity
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

    private static final int LINE_BYTES = 64;

    public Limits {
        for (int bytes : new int[] {tinyBytes, smallBytes, directBytes, ringSlotBytes}) {
            if (bytes <= 0 || bytes % LINE_BYTES != 0) {
                throw new IllegalArgumentException("a place of " + bytes + " bytes");
            }
        }
        if (ringSlots <= 0 || flags <= 0) {
            throw new IllegalArgumentException(ringSlots + " slots, " + flags + " flags");
        }
    }
}
