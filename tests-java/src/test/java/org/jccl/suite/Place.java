package org.jccl.suite;

import org.jccl.Communicator;
import org.jccl.Stream;
import org.jccl.device.UsedDevice;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Where the buffers of a communicator are: with the host, or with a device, in a stream of its own.
 * A scenario that takes its buffers from here runs on both.
 */
final class Place implements AutoCloseable {
    private final Communicator comm;
    private final Arena arena = Arena.ofShared();
    private final @Nullable UsedDevice device;
    private final Stream stream;
    private final List<MemorySegment> allocated = new ArrayList<>();

    private final boolean polled;

    private Place(Communicator comm, boolean polled) {
        this.comm = comm;
        this.polled = polled;
        int number = comm.device();
        this.device = number < 0 ? null : UsedDevice.number(number);
        this.stream = device == null ? Stream.DEFAULT : new Stream(device.openStream());
    }

    static Place of(Communicator comm) {
        return new Place(comm, false);
    }

    /** The same for a communicator that does not block. */
    static Place polled(Communicator comm) {
        return new Place(comm, true);
    }

    /** The stream for the calls. */
    Stream stream() {
        return stream;
    }

    /** Memory for what is put and got. */
    Arena host() {
        return arena;
    }

    /** A buffer for calls. */
    MemorySegment allocate(long bytes) {
        if (device == null) {
            return arena.allocate(bytes, 8);
        }
        MemorySegment memory = device.memory(bytes);
        allocated.add(memory);
        return memory;
    }

    /** This memory of the host, or what stands for it on the device until it is released. */
    MemorySegment standIn(MemorySegment room) {
        return device == null ? room : device.memory(room.byteSize());
    }

    /** Writes a stand-in, which is like {@code room} then. */
    void give(MemorySegment standIn, MemorySegment room) {
        if (device != null) {
            device.put(standIn, room);
        }
    }

    /** Reads a stand-in, which {@code room} is like then. */
    void take(MemorySegment room, MemorySegment standIn) {
        if (device != null) {
            device.get(room, standIn);
        }
    }

    /** Ends a stand-in. */
    void release(MemorySegment standIn) {
        if (device != null) {
            device.release(standIn);
        }
    }

    /** A buffer for calls with this content. */
    MemorySegment holding(MemorySegment content) {
        MemorySegment memory = allocate(content.byteSize());
        put(memory, content);
        return memory;
    }

    /** Writes a buffer. */
    void put(MemorySegment to, MemorySegment content) {
        if (device == null) {
            to.copyFrom(content);
        } else {
            device.put(to, content);
        }
    }

    /** The content of a buffer, once {@link #await} has returned. */
    MemorySegment get(MemorySegment from) {
        if (device == null) {
            return from;
        }
        MemorySegment content = arena.allocate(from.byteSize(), 8);
        device.get(content, from);
        return content;
    }

    /** Waits for the calls in the stream; throws what the communicator has failed by. */
    void await() {
        if (device != null) {
            synchronize(device);
        }
        if (device != null || polled) {
            comm.awaitReady(InitTest.SOON);
        }
    }

    private void synchronize(UsedDevice device) {
        try {
            device.synchronize(stream.handle());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /**
     * Waits for the stream first: it still copies to and from the buffers when a call has thrown
     * what the communicator has failed by, and the next scenario gets the same memory.
     */
    @Override
    public void close() {
        try (arena) {
            if (device != null) {
                synchronize(device);
            }
        } finally {
            if (device != null) {
                device.closeStream(stream.handle());
                allocated.forEach(device::release);
            }
        }
    }
}
