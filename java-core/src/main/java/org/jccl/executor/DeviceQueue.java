package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.log.Log;
import org.jccl.platform.Threads;
import org.jccl.type.CallError;
import org.jccl.type.DataType;
import org.jccl.type.LibraryError;
import org.jccl.type.NcclException;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Queue;
import java.util.function.Consumer;

/**
 * The way of one communicator's operations between the streams of its device and the host, which
 * runs their plans on staged data. The caller's stream copies the input out, says so, and waits;
 * the host runs the operation and gives a stream of its own the copy back; that stream then says
 * what the caller's waits for. The call has returned long before.
 */
final class DeviceQueue {
    /** Bound of staged data under way on one communicator. */
    static final long MAX_STAGED_BYTES = 1L << 32;

    /** Bound of blocks that are kept for later operations. */
    private static final long MAX_FREE_BYTES = 1L << 28;

    private static final long SMALLEST_BLOCK = 4096;
    private static final int ALIGNMENT = 64;

    /** How long a stop waits for copies that are on their way into the callers' buffers. */
    private static final long STOP_NS = 1_000_000_000L;

    /** A block that a stream has yet to come to, after the end of its communicator. */
    private record Orphan(Device device, StagingBlock block) {}

    /** Guarded by itself. */
    private static final ArrayList<Orphan> ORPHANS = new ArrayList<>();

    private final Device device;
    private final int rank;
    private final int nRanks;
    private final long copies;
    private final Object order = new Object();

    /** Blocks that no stream and no operation uses. Guarded by order, as the ones below. */
    private final ArrayDeque<StagingBlock> free = new ArrayDeque<>();

    private long freeBytes;

    /** Blocks of ended operations whose streams have not gone on yet. */
    private final ArrayDeque<StagingBlock> left = new ArrayDeque<>();

    /** Of blocks that are not free. */
    private long stagedBytes;

    /** Whose results are on their way to the device; owner of the communicator only. */
    private final ArrayDeque<Task> delivering = new ArrayDeque<>();

    DeviceQueue(Device device, int rank, int nRanks) {
        this.device = device;
        this.rank = rank;
        this.nRanks = nRanks;
        this.copies = device.openStream();
        freeOrphans();
    }

    /**
     * Gives the task's stream what comes before it, and queues the task in the same order. {@link
     * #fence} must follow.
     *
     * @throws NcclException if it does not fit, or the device refuses
     */
    void stage(Task task, Queue<Task> queue) {
        long in = inputBytes(task);
        long out = outputBytes(task);
        boolean inPlace = in > 0 && out > 0 && overlap(task, in, out);
        long base = inPlace ? Math.min(task.input, task.output) : 0;
        long inAt = inPlace ? task.input - base : 0;
        long outAt = inPlace ? task.output - base : (in + ALIGNMENT - 1) & -ALIGNMENT;
        long bytes = Math.max(inAt + in, outAt + out);
        synchronized (order) {
            StagingBlock block = take(task, bytes);
            try {
                if (in > 0) {
                    device.copyOut(block.data() + inAt, task.input, in, task.stream);
                }
                device.write(block.arrivedWord(), block.use(), task.stream);
            } catch (NcclException refused) {
                left.add(block);
                throw refused;
            }
            task.staged(block, block.data() + inAt, block.data() + outAt, out);
            queue.add(task);
        }
    }

    /** Gives the stream of a staged task the wait for the result. */
    void fence(Task task) {
        StagingBlock block = task.block;
        if (block != null) {
            device.await(block.deliveredWord(), task.blockUse, task.stream);
            device.write(block.passedWord(), task.blockUse, task.stream);
        }
    }

    private long inputBytes(Task task) {
        long bytes = task.count * DataType.of(task.dataType).sizeBytes();
        return switch (task.operation) {
            case RECV -> 0;
            case BROADCAST -> task.peer == rank ? bytes : 0;
            case REDUCE_SCATTER -> bytes * nRanks;
            default -> bytes;
        };
    }

    private long outputBytes(Task task) {
        long bytes = task.count * DataType.of(task.dataType).sizeBytes();
        return switch (task.operation) {
            case SEND -> 0;
            case ALL_GATHER -> bytes * nRanks;
            default -> bytes;
        };
    }

    private static boolean overlap(Task task, long in, long out) {
        return Long.compareUnsigned(task.output - task.input, in) < 0
                || Long.compareUnsigned(task.input - task.output, out) < 0;
    }

    private StagingBlock take(Task task, long bytes) {
        long size = StagingBlock.HEADER_BYTES + bytes;
        if (bytes < 0 || size > MAX_STAGED_BYTES - stagedBytes) {
            throw tooMuch(task, bytes);
        }
        reclaim();
        StagingBlock found = null;
        for (StagingBlock block : free) {
            boolean fits = block.sizeBytes() >= size && block.sizeBytes() <= 4 * sizeFor(size);
            if (fits && (found == null || block.sizeBytes() < found.sizeBytes())) {
                found = block;
            }
        }
        if (found == null) {
            found = new StagingBlock(device.allocateHost(sizeFor(size)), sizeFor(size));
        } else {
            free.remove(found);
            freeBytes -= found.sizeBytes();
        }
        found.next();
        stagedBytes += found.sizeBytes();
        return found;
    }

    private static long sizeFor(long bytes) {
        return Math.max(SMALLEST_BLOCK, Long.highestOneBit(bytes - 1) << 1);
    }

    private NcclException tooMuch(Task task, long bytes) {
        return CallError.TOO_MUCH_STAGED.says(
                "nccl"
                        + task.operation.ncclName()
                        + " : "
                        + bytes
                        + " bytes of "
                        + device.name()
                        + " do not fit beside the "
                        + stagedBytes
                        + " that are under way; the bound is "
                        + MAX_STAGED_BYTES
                        + ": synchronize the stream before, or divide the call");
    }

    /** The operation is done on the host: its result goes to the device. For the owner. */
    void deliver(Task task, StagingBlock block) {
        if (task.deviceOutputBytes > 0) {
            device.copyIn(task.deviceOutput, task.output, task.deviceOutputBytes, copies);
        }
        device.write(block.deliveredWord(), block.use(), copies);
        delivering.add(task);
    }

    /**
     * Looks for results that have come to the device; for the owner.
     *
     * @return whether there were any
     */
    boolean progress(Consumer<Task> over) {
        boolean moved = false;
        for (Task task = delivering.peek(); task != null; task = delivering.peek()) {
            StagingBlock block = task.block;
            if (block != null && !block.delivered()) {
                return moved;
            }
            delivering.remove();
            release(task);
            over.accept(task);
            moved = true;
        }
        return moved;
    }

    /** Whether results are on their way; for the owner. */
    boolean isDelivering() {
        return !delivering.isEmpty();
    }

    /**
     * The device must not have failed.
     *
     * @throws NcclException UNHANDLED_CUDA_ERROR if it has
     */
    void requireSound() {
        String fault = device.fault();
        if (fault != null) {
            throw LibraryError.DEVICE_FAILED.says(
                    device.name()
                            + " of rank "
                            + rank
                            + " has failed: "
                            + fault
                            + "; abort the communicator and start the process again");
        }
    }

    /** Lets the stream of a task that has ended without a result go on; for the owner. */
    void release(Task task) {
        StagingBlock block = task.block;
        if (block == null) {
            return;
        }
        if (!block.delivered()) {
            block.giveUp();
        }
        synchronized (order) {
            left.add(block);
            reclaim();
        }
    }

    /** Blocks can be used again once their streams have gone on. */
    private void reclaim() {
        for (int i = left.size(); i > 0; i--) {
            StagingBlock block = left.remove();
            if (!block.passed()) {
                left.add(block);
                continue;
            }
            stagedBytes -= block.sizeBytes();
            if (freeBytes + block.sizeBytes() > MAX_FREE_BYTES) {
                device.freeHost(block.address());
            } else {
                free.add(block);
                freeBytes += block.sizeBytes();
            }
        }
    }

    /**
     * Waits for copies that write the callers' buffers, which is short: they wait for nothing. For
     * the owner.
     *
     * @param over gets what comes to its end so
     */
    void stop(Consumer<Task> over) {
        long end = System.nanoTime() + STOP_NS;
        for (int round = 0; isDelivering() && device.fault() == null; round++) {
            if (progress(over)) {
                continue;
            }
            if (System.nanoTime() - end >= 0) {
                Log.warn(
                        LibraryError.DEVICE_FAILED.says(
                                device.name()
                                        + " has not come to the end of copies into buffers of rank "
                                        + rank
                                        + " within 1 s; keep the buffers until it has"));
                return;
            }
            Threads.pause(round);
        }
    }

    /** Forgets results that have not come to the device; for the owner. */
    void clear(Consumer<Task> dropped) {
        delivering.forEach(dropped);
        delivering.clear();
    }

    /** Frees everything; no operation is under way. */
    void close() {
        synchronized (order) {
            reclaim();
            free.forEach(block -> device.freeHost(block.address()));
            free.clear();
            synchronized (ORPHANS) {
                left.forEach(block -> ORPHANS.add(new Orphan(device, block)));
            }
            left.clear();
        }
        device.closeStream(copies);
        freeOrphans();
    }

    private static void freeOrphans() {
        synchronized (ORPHANS) {
            ORPHANS.removeIf(DeviceQueue::free);
        }
    }

    private static boolean free(Orphan orphan) {
        if (!orphan.block.passed()) {
            return false;
        }
        orphan.device.freeHost(orphan.block.address());
        return true;
    }
}
