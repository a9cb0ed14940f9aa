package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.log.Log;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

import java.util.Queue;

/**
 * Carries one communicator's operations between the streams of its device and the host, which runs
 * their plans on staged data. The caller's stream copies the input out, says so, and waits. The
 * host runs the operation and gives the copy back to a stream of its own, which afterwards writes
 * the word that the caller's stream waits for. The call has returned long before.
 */
final class DeviceQueue {
    private static final int ALIGNMENT = 64;

    private final Device device;
    private final int rank;
    private final int nRanks;
    private final StagingPool pool;

    /** Held while an operation is put into its stream and into the queue; never by the owner. */
    private final Object order = new Object();

    /** The stream for copies back, -1 before the first operation. Guarded by order. */
    private long copies = -1;

    DeviceQueue(Device device, int rank, int nRanks) {
        this.device = device;
        this.rank = rank;
        this.nRanks = nRanks;
        this.pool = new StagingPool(device);
    }

    /**
     * Gives the task's stream what comes before the operation, and queues the task in the same
     * order. {@link #awaitInStream} must follow.
     *
     * @throws NcclException if the data does not fit or the device refuses
     */
    void stage(Task task, Queue<Task> queue) {
        long in = inputBytes(task);
        long out = outputBytes(task);
        boolean inPlace = in > 0 && out > 0 && overlap(task, in, out);
        long base = inPlace ? Math.min(task.input(), task.output()) : 0;
        long inAt = inPlace ? task.input() - base : 0;
        long outAt = inPlace ? task.output() - base : (in + ALIGNMENT - 1) & -ALIGNMENT;
        StagingBlock block = take(task, Math.max(inAt + in, outAt + out));
        synchronized (order) {
            boolean copied = false;
            try {
                copies = copies < 0 ? device.openStream() : copies;
                if (in > 0) {
                    device.copyOut(block.data() + inAt, task.input(), in, task.stream());
                    copied = true;
                }
                device.write(block.word(StagingBlock.ARRIVED), block.use(), task.stream());
            } catch (NcclException refused) {
                // Nobody can use the block while a copy into it is under way.
                if (!copied) {
                    block.set(StagingBlock.PASSED);
                }
                pool.giveBack(block);
                throw refused;
            }
            task.staged(block, out, copies);
            task.buffers(block.data() + inAt, block.data() + outAt);
            queue.add(task);
        }
    }

    private StagingBlock take(Task task, long bytes) {
        StagingBlock block = pool.take(bytes);
        if (block == null) {
            throw ErrorKind.TOO_MUCH_STAGED.says(
                    "nccl%s : %s bytes of %s do not fit beside the %s that are under way; "
                            + "the bound is %s: synchronize the stream before, or divide the call",
                    task.operation().ncclName(),
                    bytes,
                    device.name(),
                    pool.stagedBytes(),
                    StagingPool.MAX_STAGED_BYTES);
        }
        return block;
    }

    /** Gives the stream of a staged task the wait for the result. */
    void awaitInStream(Task task, StagingBlock block) {
        device.await(block.word(StagingBlock.DELIVERED), task.blockUse, task.stream());
        device.write(block.word(StagingBlock.PASSED), task.blockUse, task.stream());
    }

    private long inputBytes(Task task) {
        return task.operation().sends(rank, task.peer())
                ? task.operation().inSize(task.partBytes(), nRanks)
                : 0;
    }

    private long outputBytes(Task task) {
        return task.operation().receives(rank, task.peer())
                ? task.operation().outSize(task.partBytes(), nRanks)
                : 0;
    }

    private static boolean overlap(Task task, long in, long out) {
        return Long.compareUnsigned(task.output() - task.input(), in) < 0
                || Long.compareUnsigned(task.input() - task.output(), out) < 0;
    }

    /** Sends the result of an operation that the host has done to the device; for the owner. */
    void deliver(Task task, StagingBlock block) {
        if (task.deviceOutputBytes > 0) {
            long bytes = task.deviceOutputBytes;
            device.copyIn(task.deviceOutput, task.output(), bytes, task.copies);
        }
        try {
            device.write(block.word(StagingBlock.DELIVERED), block.use(), task.copies);
            task.returning = true;
        } catch (NcclException refused) {
            // Once more: without the word nobody could know when the copy has ended.
            device.write(block.word(StagingBlock.DELIVERED), block.use(), task.copies);
            task.returning = true;
            throw refused;
        }
    }

    /**
     * Checks that the device has not failed.
     *
     * @throws NcclException UNHANDLED_CUDA_ERROR if it has
     */
    void requireSound() {
        String fault = device.fault();
        if (fault != null) {
            throw ErrorKind.DEVICE_FAILED.says(
                    "%s of rank %s has failed: %s; abort the communicator and start the "
                            + "process again",
                    device.name(), rank, fault);
        }
    }

    /**
     * Lets the stream of a task go on that has ended, perhaps without a result; for the owner. If a
     * result is still on its way into the caller's buffer, the stream goes on only once it is
     * there.
     */
    void release(Task task) {
        StagingBlock block = task.block;
        if (block == null) {
            return;
        }
        if (!task.returning) {
            block.set(StagingBlock.DELIVERED);
        }
        pool.giveBack(block);
    }

    /** Frees what no stream uses any more; no operation is under way. */
    void close() {
        pool.close();
        long stream;
        synchronized (order) {
            stream = copies;
            copies = -1;
        }
        if (stream >= 0) {
            try {
                device.closeStream(stream);
            } catch (NcclException refused) {
                Log.warn(refused);
            }
        }
    }
}
