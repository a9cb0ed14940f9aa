package org.jccl.device;

import org.jccl.platform.Memory;
import org.jccl.platform.Protection;
import org.jccl.platform.SharedMemory;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A device that lives in this process. Its memory lies at addresses that end the process if the
 * host touches them; its streams are threads which do what they are given later, and look at the
 * memory through a window that nobody else knows.
 */
public final class SimulatedDevice implements Device, UsedDevice {
    private static final long SIZE_BYTES = 1L << 28;
    private static final int ALIGNMENT = 256;
    private static final byte FRESH = (byte) 0xCD;
    private static final byte FREED = (byte) 0xDB;

    private final String kind;
    private final int ordinal;

    /** Whether it runs collectives with others of its kind. */
    private final boolean linked;

    /** Streams whose work goes into a graph, and that work. */
    private final Map<Long, List<Runnable>> captured = new ConcurrentHashMap<>();

    private final SharedMemory addresses = SharedMemory.anonymous(SIZE_BYTES);
    private final SharedMemory window = SharedMemory.anonymous(SIZE_BYTES);

    /** By its address, the size of each allocation. Guarded by itself. */
    private final TreeMap<Long, Long> allocations = new TreeMap<>();

    private final AtomicInteger wrongFrees = new AtomicInteger();
    private final Map<Long, SharedMemory> pinned = new ConcurrentHashMap<>();
    private final Map<Long, SimulatedStream> streams = new ConcurrentHashMap<>();
    private final AtomicLong lastStream = new AtomicLong();
    private volatile @Nullable String fault;
    private volatile CountDownLatch holding = new CountDownLatch(0);

    /** Calls that give the device something to do read; who frees memory as CUDA does writes. */
    private final ReentrantReadWriteLock calls = new ReentrantReadWriteLock();

    private final AtomicBoolean prepared = new AtomicBoolean();

    /** The call that the device refuses next, and how many such calls it lets pass before. */
    private @Nullable String refusing;

    private int refusedAfter;

    SimulatedDevice(String kind, int ordinal, boolean linked) {
        this.kind = kind;
        this.ordinal = ordinal;
        this.linked = linked;
        Protection.forbid(addresses.address(), SIZE_BYTES);
        streams.put(0L, new SimulatedStream(this, 0));
    }

    // -- for programs that use the device

    /** Memory that holds no zeros. */
    @Override
    public long allocate(long bytes) {
        synchronized (allocations) {
            long at = addresses.address();
            for (Map.Entry<Long, Long> each : allocations.entrySet()) {
                if (each.getKey() - at >= bytes) {
                    break;
                }
                at = (each.getKey() + each.getValue() + ALIGNMENT - 1) & -ALIGNMENT;
            }
            if (at + bytes > addresses.address() + SIZE_BYTES) {
                throw new OutOfMemoryError(name());
            }
            allocations.put(at, Math.max(1, bytes));
            Memory.fill(inWindow(at), bytes, FRESH);
            return at;
        }
    }

    @Override
    public void free(long address) {
        synchronized (allocations) {
            Long bytes = allocations.remove(address);
            if (bytes == null) {
                throw new IllegalStateException("freed twice: 0x" + Long.toHexString(address));
            }
            Memory.fill(inWindow(address), bytes, FREED);
        }
    }

    @Override
    public void put(MemorySegment to, MemorySegment hostFrom) {
        require(to.address(), hostFrom.byteSize());
        Memory.copy(hostFrom.address(), inWindow(to.address()), hostFrom.byteSize());
    }

    @Override
    public void get(MemorySegment hostTo, MemorySegment from) {
        require(from.address(), hostTo.byteSize());
        Memory.copy(inWindow(from.address()), hostTo.address(), hostTo.byteSize());
    }

    @Override
    public void run(long stream, Runnable work) {
        stream(stream).add(work);
    }

    @Override
    public void synchronize(long stream) throws InterruptedException {
        stream(stream).synchronize();
    }

    /** From now on the device does nothing any more. */
    public void fail(String why) {
        fault = why;
    }

    /** Makes the device refuse a call with this name, after this many that it lets pass. */
    public synchronized void refuse(String call, int after) {
        refusing = call;
        refusedAfter = after;
    }

    @Override
    public void freeWhenIdle(MemorySegment memory) {
        whenIdle(() -> release(memory));
    }

    /** As CUDA loads kernels. */
    @Override
    public void prepare() {
        if (prepared.compareAndSet(false, true)) {
            whenIdle(() -> {});
        }
    }

    private void whenIdle(Runnable action) {
        calls.writeLock().lock();
        try {
            for (SimulatedStream each : streams.values()) {
                each.synchronize();
            }
            action.run();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } finally {
            calls.writeLock().unlock();
        }
    }

    void mayRefuse(String call) {
        calls.readLock().lock();
        try {
            mayRefuseNow(call);
        } finally {
            calls.readLock().unlock();
        }
    }

    private synchronized void mayRefuseNow(String call) {
        if (call.equals(refusing) && refusedAfter-- == 0) {
            refusing = null;
            throw refused("it was told to refuse " + call);
        }
    }

    /** Fails in ways that no device has: by an exception of another kind, or by an error. */
    private void mayBreak(String call) {
        try {
            mayRefuse(call);
        } catch (NcclException refused) {
            throw new IllegalStateException(refused);
        }
        try {
            mayRefuse(call + " by an error");
        } catch (NcclException refused) {
            throw new LinkageError(call, refused);
        }
    }

    /** Host memory that was allocated and not freed. */
    public long pinnedBytes() {
        return pinned.values().stream().mapToLong(SharedMemory::sizeBytes).sum();
    }

    /** How often memory was freed that was not allocated. */
    public int wrongFrees() {
        return wrongFrees.get();
    }

    /** Streams besides the default one. */
    public int openStreams() {
        return streams.size() - 1;
    }

    /** From now on kernels do not end before this latch is open. */
    public void holdKernels(CountDownLatch latch) {
        holding = latch;
    }

    void awaitHolder() throws InterruptedException {
        holding.await();
    }

    /** From now on the launches of a stream go into a graph. */
    public void capture(long stream) {
        captured.put(stream, new ArrayList<>());
    }

    /** The graph that {@link #capture} began. */
    public List<Runnable> endCapture(long stream) {
        List<Runnable> graph = captured.remove(stream);
        return graph == null ? List.of() : graph;
    }

    @Override
    public boolean isCaptured(long stream) {
        return captured.containsKey(stream);
    }

    /** Gives a stream a kernel. */
    void launch(long stream, Runnable kernel) {
        mayRefuse("launch");
        give(stream, kernel);
    }

    private void give(long stream, Runnable kernel) {
        List<Runnable> graph = captured.get(stream);
        if (graph == null) {
            stream(stream).add(kernel);
        } else {
            graph.add(kernel);
        }
    }

    long inWindow(long address) {
        return address - addresses.address() + window.address();
    }

    private void require(long address, long bytes) {
        if (bytes > 0 && !owns(address, bytes)) {
            throw new IllegalStateException("0x" + Long.toHexString(address) + " is not allocated");
        }
    }

    // -- for JCCL

    @Override
    public String name() {
        return kind + ":" + ordinal;
    }

    @Override
    public String kind() {
        return kind;
    }

    @Override
    public int ordinal() {
        return ordinal;
    }

    @Override
    public boolean owns(long address, long bytes) {
        if (address < addresses.address()
                || address >= addresses.address() + SIZE_BYTES
                || bytes > SIZE_BYTES) {
            return false;
        }
        synchronized (allocations) {
            Map.Entry<Long, Long> below = allocations.floorEntry(address);
            return below != null && address + bytes <= below.getKey() + below.getValue();
        }
    }

    @Override
    public boolean isStream(long stream) {
        return streams.containsKey(stream);
    }

    @Override
    public long openStream() {
        mayRefuse("openStream");
        long handle = lastStream.incrementAndGet();
        streams.put(handle, new SimulatedStream(this, handle));
        return handle;
    }

    @Override
    public void closeStream(long stream) {
        stream(stream).close();
        streams.remove(stream);
    }

    private SimulatedStream stream(long handle) {
        SimulatedStream found = streams.get(handle);
        if (found == null) {
            throw refused("there is no stream " + handle);
        }
        return found;
    }

    private NcclException refused(String why) {
        return ErrorKind.DEVICE_FAILED.says(name() + " refuses: " + why);
    }

    @Override
    public long allocateHost(long bytes) {
        mayRefuse("allocateHost");
        SharedMemory memory = SharedMemory.anonymous(bytes);
        pinned.put(memory.address(), memory);
        return memory.address();
    }

    @Override
    public void freeHost(long address) {
        SharedMemory memory = pinned.remove(address);
        if (memory == null) {
            wrongFrees.incrementAndGet();
            throw refused("0x" + Long.toHexString(address) + " was not allocated");
        }
        memory.close();
        mayBreak("freeHost");
    }

    @Override
    public void copyOut(long hostTo, long from, long bytes, long stream) {
        mayRefuse("copyOut");
        SimulatedStream in = stream(stream);
        in.add(() -> copy(in, from, bytes, inWindow(from), hostTo));
    }

    @Override
    public void copyIn(long to, long hostFrom, long bytes, long stream) {
        mayRefuse("copyIn");
        SimulatedStream in = stream(stream);
        in.add(() -> copy(in, to, bytes, hostFrom, inWindow(to)));
    }

    @Override
    public boolean copy(long to, long from, long bytes, long stream) {
        mayRefuse("copy");
        SimulatedStream in = stream(stream);
        boolean graph = isCaptured(stream);
        give(
                stream,
                () -> {
                    if (owns(from, bytes)) {
                        copy(in, to, bytes, inWindow(from), inWindow(to));
                    } else {
                        fail("an illegal memory access at 0x" + Long.toHexString(from));
                    }
                });
        return graph;
    }

    private void copy(SimulatedStream in, long address, long bytes, long from, long to) {
        if (owns(address, bytes)) {
            in.copy(from, to, bytes);
        } else {
            fail("an illegal memory access at 0x" + Long.toHexString(address));
        }
    }

    @Override
    public void write(long hostAddress, long value, long stream) {
        mayRefuse("write");
        stream(stream).add(() -> Memory.putLongRelease(hostAddress, value));
    }

    @Override
    public void await(long hostAddress, long value, long stream) {
        mayRefuse("await");
        SimulatedStream in = stream(stream);
        in.add(() -> in.await(hostAddress, value));
    }

    @Override
    public @Nullable DeviceCollectives collectives(int rank, int nRanks) {
        return linked ? new LinkedCollectives(this, rank, nRanks) : null;
    }

    @Override
    public @Nullable String fault() {
        return fault;
    }
}
