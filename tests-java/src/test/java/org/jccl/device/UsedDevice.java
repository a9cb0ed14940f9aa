package org.jccl.device;

import java.lang.foreign.MemorySegment;

/**
 * A device, and what a program does with it besides calling JCCL; for scenarios that run on any.
 */
public interface UsedDevice {
    /** The kind of the devices of this run: of simulated ones, unless JCCL_TEST_DEVICE says. */
    String KIND = System.getenv().getOrDefault("JCCL_TEST_DEVICE", SimulatedProvider.KIND);

    /** Whether they are simulated. */
    boolean SIMULATED = KIND.equals(SimulatedProvider.KIND);

    /** The device with this number; where there are fewer, ranks share them. */
    static UsedDevice number(int ordinal) {
        return SIMULATED ? SimulatedProvider.device(ordinal) : RealDevice.number(ordinal);
    }

    /** Its name, as of {@link Device#name}. */
    String name();

    /** A new stream. */
    long openStream();

    /** Ends a stream that has nothing more to do. */
    void closeStream(long stream);

    /** Memory of the device. */
    long allocate(long bytes);

    /** Frees what {@link #allocate} gave. */
    void free(long address);

    /** Memory of the device as a segment. */
    default MemorySegment memory(long bytes) {
        return segment(allocate(Math.max(1, bytes)), bytes);
    }

    /** So many bytes at an address. */
    @SuppressWarnings("restricted")
    static MemorySegment segment(long address, long bytes) {
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    /** Frees what {@link #memory} gave. */
    default void release(MemorySegment memory) {
        free(memory.address());
    }

    /**
     * Frees what {@link #memory} gave as CUDA does: once all streams have done everything; until
     * then every other call of the device waits.
     */
    void freeWhenIdle(MemorySegment memory);

    /** Copies from the host at once. */
    void put(MemorySegment to, MemorySegment hostFrom);

    /** Copies to the host at once. */
    void get(MemorySegment hostTo, MemorySegment from);

    /** Gives a stream something else to do. */
    void run(long stream, Runnable work);

    /** Waits until a stream has done everything that it was given. */
    void synchronize(long stream) throws InterruptedException;
}
