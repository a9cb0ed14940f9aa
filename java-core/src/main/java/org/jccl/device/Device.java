package org.jccl.device;

import org.jspecify.annotations.Nullable;

/**
 * A processor with memory of its own. It does the work that it is given in streams: in order within
 * a stream, later than the call that gives the work, and beside the host. Any thread may call any
 * method.
 *
 * <p>Every method but {@link #fault} throws an {@link org.jccl.type.NcclException} of the kind
 * {@link org.jccl.type.ErrorKind#DEVICE_FAILED} if the device refuses.
 */
public interface Device {
    /** Its name in messages and logs, as in {@code cuda:0}. */
    String name();

    /** What sort of device it is; the ranks of a communicator must agree on it. */
    String kind();

    /** Its number among the devices of its kind in this process. */
    int ordinal();

    /**
     * Whether streams of one process may share a queue of the device, in which one that waits holds
     * up the others; then ranks of a process need a device each.
     */
    default boolean streamsShareQueues() {
        return false;
    }

    /** Whether all these bytes, at least one, are memory of this device. */
    boolean owns(long address, long bytes);

    /** Whether this is a stream of the device that can be given work; 0 is the default stream. */
    boolean isStream(long stream);

    /** A new stream, which waits for no other. */
    long openStream();

    /** Ends a stream once it has done what it was given; does not wait for that. */
    void closeStream(long stream);

    /** Memory of this device, at least one byte; what is in it is not said. */
    long allocate(long bytes);

    /** Frees what {@link #allocate} gave; may wait for what the device is doing. */
    void free(long address);

    /**
     * Memory of the host, aligned to a page, that the device can reach: zeroed, or as it was left
     * by who freed it.
     */
    long allocateHost(long bytes);

    /** Frees what {@link #allocateHost} gave; no stream uses it any more. */
    void freeHost(long address);

    /** Whether what is given to one stream and then to the other is done in this order. */
    default boolean keepsOrder(long stream, long next) {
        return stream == next;
    }

    /** Gives a stream a copy from the device's memory to the host's, of one byte or more. */
    void copyOut(long hostTo, long from, long bytes, long stream);

    /** Gives a stream a copy from the host's memory to the device's, of one byte or more. */
    void copyIn(long to, long hostFrom, long bytes, long stream);

    /**
     * Gives a stream a copy of one byte or more within the device's memory, where the two places do
     * not overlap.
     *
     * @return whether it goes into a graph, since the stream is captured
     */
    boolean copy(long to, long from, long bytes, long stream);

    /** Whether the work that a stream is given now goes into a graph. */
    default boolean isCaptured(long stream) {
        return false;
    }

    /** Gives a stream the task to store a long in the host's memory, after all before it. */
    void write(long hostAddress, long value, long stream);

    /** Gives a stream the task to wait until a long in the host's memory has come to a value. */
    void await(long hostAddress, long value, long stream);

    /**
     * Does, the first time, what would have to wait for all operations under way; each communicator
     * calls it before it has any.
     */
    default void prepare() {}

    /**
     * Collectives for a rank of a communicator on devices of this kind, after {@link #prepare}.
     *
     * @return null if the device can run none for so many ranks
     */
    default @Nullable DeviceCollectives collectives(int rank, int nRanks) {
        return null;
    }

    /** Why the device does nothing any more, or null. */
    @Nullable String fault();
}
