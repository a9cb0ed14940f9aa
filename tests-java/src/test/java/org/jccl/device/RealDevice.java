package org.jccl.device;

import org.jccl.platform.Memory;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** A device that a module has brought, used by nothing but what {@link Device} offers. */
final class RealDevice implements UsedDevice {
    private static final Map<Integer, RealDevice> DEVICES = new ConcurrentHashMap<>();
    private static final int LONG_BYTES = 8;
    private static final int PAGE_BYTES = 4096;
    private static final long POLL_NS = 20_000;

    private final Device device;

    /** For copies that nothing else stands behind or before. */
    private final long copies;

    /** Words in host memory, used in turn; a test has fewer under way. */
    private final long words;

    private final AtomicLong uses = new AtomicLong();

    /** By size, memory that nobody uses. */
    private final Map<Long, Queue<Long>> spare = new ConcurrentHashMap<>();

    private RealDevice(Device device) {
        this.device = device;
        this.copies = device.openStream();
        this.words = device.allocateHost(PAGE_BYTES);
        Memory.fill(words, PAGE_BYTES, (byte) 0);
    }

    /** The device with this number, or with the highest number that there is. */
    static RealDevice number(int ordinal) {
        for (int number = ordinal; ; number--) {
            try {
                return DEVICES.computeIfAbsent(number, RealDevice::open);
            } catch (NcclException absent) {
                if (number == 0 || absent.result() != NcclResult.INVALID_ARGUMENT) {
                    throw absent;
                }
            }
        }
    }

    private static RealDevice open(int number) {
        Device device = Devices.open(KIND + ":" + number);
        if (device == null) {
            throw new IllegalStateException(KIND + " is no kind of device");
        }
        return new RealDevice(device);
    }

    private long word(long use) {
        return words + use * LONG_BYTES % PAGE_BYTES;
    }

    /** A device that writes a word wakes nobody. */
    private void awaitWord(long use) {
        while (Memory.getLongAcquire(word(use)) < use) {
            String why = device.fault();
            if (why != null) {
                throw new IllegalStateException(name() + " has failed: " + why);
            }
            LockSupport.parkNanos(POLL_NS);
        }
    }

    private Queue<Long> spare(long bytes) {
        return spare.computeIfAbsent(bytes, size -> new ConcurrentLinkedQueue<>());
    }

    /**
     * A device may free memory only once all its streams have done everything, and let every other
     * call wait until then; a stream that waits for {@link #run} would wait for ever.
     */
    @Override
    public MemorySegment memory(long bytes) {
        Long address = spare(bytes).poll();
        return address == null
                ? UsedDevice.super.memory(bytes)
                : UsedDevice.segment(address, bytes);
    }

    @Override
    public void release(MemorySegment memory) {
        spare(memory.byteSize()).add(memory.address());
    }

    @Override
    public void freeWhenIdle(MemorySegment memory) {
        device.free(memory.address());
    }

    @Override
    public void put(MemorySegment to, MemorySegment hostFrom) {
        long bytes = hostFrom.byteSize();
        long staged = device.allocateHost(Math.max(1, bytes));
        Memory.copy(hostFrom.address(), staged, bytes);
        if (bytes > 0) {
            device.copyIn(to.address(), staged, bytes, copies);
            synchronize(copies);
        }
        device.freeHost(staged);
    }

    @Override
    public void get(MemorySegment hostTo, MemorySegment from) {
        long bytes = hostTo.byteSize();
        long staged = device.allocateHost(Math.max(1, bytes));
        if (bytes > 0) {
            device.copyOut(staged, from.address(), bytes, copies);
            synchronize(copies);
        }
        Memory.copy(staged, hostTo.address(), bytes);
        device.freeHost(staged);
    }

    @Override
    public void run(long stream, Runnable work) {
        long come = uses.incrementAndGet();
        long done = uses.incrementAndGet();
        device.write(word(come), come, stream);
        device.await(word(done), done, stream);
        Thread host =
                new Thread(
                        () -> {
                            awaitWord(come);
                            work.run();
                            Memory.putLongRelease(word(done), done);
                        },
                        name() + "-host-work");
        host.setDaemon(true);
        host.start();
    }

    @Override
    public void synchronize(long stream) {
        long use = uses.incrementAndGet();
        device.write(word(use), use, stream);
        awaitWord(use);
    }

    @Override
    public String name() {
        return device.name();
    }

    @Override
    public long openStream() {
        return device.openStream();
    }

    @Override
    public void closeStream(long stream) {
        device.closeStream(stream);
    }

    @Override
    public long allocate(long bytes) {
        return device.allocate(bytes);
    }

    @Override
    public void free(long address) {
        device.free(address);
    }
}
