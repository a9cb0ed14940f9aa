package org.jccl.transport;

/** The parts of a region that are allocated separately. */
public enum Area {
    /** Header, flags, tiny lines and small slots: made at init. */
    BASE(0),
    /** Direct slots and the ring: made before the first call that needs them. */
    RING(1),
    /** Slots of send and receive: those for a peer are made before the first send to it. */
    FIFO(2),
    /** The same for sends and receives inside collectives, which have an order of their own. */
    EXCHANGE(3);

    private static final Area[] BY_NUMBER = values();

    private final int number;

    Area(int number) {
        this.number = number;
    }

    /** The number in frames. */
    public int number() {
        return number;
    }

    /** How many there are; their numbers are 0 up to this, exclusive. */
    public static int total() {
        return BY_NUMBER.length;
    }

    /** The area with this number. */
    public static Area of(int number) {
        return BY_NUMBER[number];
    }

    /** The area's size for a communicator of {@code nRanks}. */
    public long sizeBytes(int nRanks) {
        return switch (this) {
            case BASE -> RegionLayout.baseBytes(nRanks);
            case RING -> RegionLayout.RING_AREA_BYTES;
            case FIFO, EXCHANGE -> RegionLayout.fifoAreaBytes(nRanks);
        };
    }

    /** Where the area begins in a region of a communicator of {@code nRanks}. */
    public long offset(int nRanks) {
        long offset = 0;
        for (int before = 0; before < number; before++) {
            offset += of(before).sizeBytes(nRanks);
        }
        return offset;
    }
}
