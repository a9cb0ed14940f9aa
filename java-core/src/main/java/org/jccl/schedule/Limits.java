package org.jccl.schedule;

/**
 * The sizes of a rank's region that schedules are made for; equal on all ranks of a communicator.
 * Sizes in bytes are whole cache lines.
 *
 * @param tinyBytes payload of a tiny message, at most smallBytes; there is room for one of each
 *     parity
 * @param smallBytes size of {@link Space#SMALL}
 * @param directBytes size of {@link Space#DIRECT}
 * @param ringSlotBytes size of one slot of {@link Space#RING}
 * @param ringSlots slots of {@link Space#RING}
 * @param chunkBytes payload of one slot of {@link Space#FIFO}, behind a header of {@link
 *     #HEADER_BYTES}
 * @param chunkSlots slots of {@link Space#FIFO}
 */
public record Limits(
        int tinyBytes,
        int smallBytes,
        int directBytes,
        int ringSlotBytes,
        int ringSlots,
        int chunkBytes,
        int chunkSlots) {
    /** What precedes the payload of each chunk of a message. */
    public static final int HEADER_BYTES = 64;
}
