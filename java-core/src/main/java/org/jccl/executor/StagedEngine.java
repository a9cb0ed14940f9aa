package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.log.Log;
import org.jccl.transport.Links;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.Consumer;

/**
 * Runs a device's operations on the host, on data that is staged there. The caller's stream copies
 * the input out, says so, and waits; the call returns. The operation begins when its stream has
 * come to it. A stream of the engine's own copies the result back and then writes the word that the
 * caller's stream waits for; with that word the operation is over.
 */
final class StagedEngine extends HostEngine {
    /** Short, since what a device does wakes nobody. */
    private static final long LONGEST_NAP_NS = 2_000_000;

    private static final int ALIGNMENT = 64;

    private final Device device;
    private final StagingPool pool;

    /** Held while an operation is put into its stream and into the queue; never by the owner. */
    private final Object order = new Object();

    /**
     * The stream for copies back, -1 before the first operation. Written under the lock, before an
     * operation that needs it is queued.
     */
    private long copies = -1;

    /** Tasks whose results are on their way to the device. */
    private final ArrayDeque<Task> delivering = new ArrayDeque<>();

    /** Shown to a wait while only results are on their way. */
    private final Blocked result = new Blocked();

    StagedEngine(Links links, Device device, Consumer<Task> over) {
        super(links, over);
        this.device = device;
        this.pool = new StagingPool(device);
    }

    @Override
    public void enqueue(Task task, Queue<Task> inbox) {
        if (task.isOnHost()) {
            inbox.add(task);
        } else if (task.composed() != null) {
            throw ErrorKind.NOT_DONE_YET.says(
                    "jcclStartComposed is not done yet on a device; see DIFFERENCES.md");
        } else {
            stage(task, inbox);
        }
    }

    /** Gives the task's stream what comes before the operation, and queues the task. */
    private void stage(Task task, Queue<Task> inbox) {
        Operation op = task.operation();
        int rank = links.rank();
        int nRanks = links.nRanks();
        long in = op.sends(rank, task.peer()) ? op.inSize(task.partBytes(), nRanks) : 0;
        long out = op.receives(rank, task.peer()) ? op.outSize(task.partBytes(), nRanks) : 0;
        boolean inPlace = in > 0 && out > 0 && task.overlap(in, out);
        long base = inPlace ? Math.min(task.input(), task.output()) : 0;
        long inAt = inPlace ? task.input() - base : 0;
        long outAt = inPlace ? task.output() - base : (in + ALIGNMENT - 1) & -ALIGNMENT;
        StagingBlock block = pool.take(task, Math.max(inAt + in, outAt + out));
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
            block.output = task.output();
            block.outputBytes = out;
            task.block = block;
            task.buffers(block.data() + inAt, block.data() + outAt);
            inbox.add(task);
        }
    }

    @Override
    public boolean follow(Task task) {
        StagingBlock block = task.block;
        if (block != null) {
            device.await(block.word(StagingBlock.DELIVERED), block.use(), task.stream());
            device.write(block.word(StagingBlock.PASSED), block.use(), task.stream());
        }
        return block != null;
    }

    @Override
    public boolean callersWait() {
        return false;
    }

    /** The result is there, in host memory. */
    @Override
    void finish(Task task) {
        StagingBlock block = task.block;
        if (block == null) {
            super.finish(task);
        } else {
            delivering.add(task);
            deliver(task, block);
        }
    }

    private void deliver(Task task, StagingBlock block) {
        if (block.outputBytes > 0) {
            device.copyIn(block.output, task.output(), block.outputBytes, copies);
        }
        try {
            device.write(block.word(StagingBlock.DELIVERED), block.use(), copies);
            block.returning = true;
        } catch (NcclException refused) {
            // Once more: without the word nobody could know when the copy has ended.
            device.write(block.word(StagingBlock.DELIVERED), block.use(), copies);
            block.returning = true;
            throw refused;
        }
    }

    @Override
    public boolean progress() {
        boolean moved = super.progress();
        while (!delivering.isEmpty() && delivering.element().delivered()) {
            Task first = delivering.remove();
            release(first);
            finished.accept(first);
            moved = true;
        }
        return moved;
    }

    @Override
    public void clear(Consumer<Task> dropped) {
        super.clear(dropped);
        delivering.forEach(dropped);
        delivering.clear();
    }

    /**
     * If a result is still on its way into the caller's buffer, the stream goes on only once it is
     * there.
     */
    @Override
    public void release(Task task) {
        StagingBlock block = task.block;
        if (block == null) {
            return;
        }
        if (!block.returning) {
            block.set(StagingBlock.DELIVERED);
        }
        pool.giveBack(block);
    }

    @Override
    public void close() {
        super.close();
        pool.close();
        if (copies >= 0) {
            try {
                device.closeStream(copies);
            } catch (NcclException refused) {
                Log.warn(refused);
            }
        }
    }

    @Override
    public @Nullable Blocked blocked(@Nullable Task task) {
        Blocked blocked = super.blocked(task);
        Task first = delivering.peek();
        return blocked == null && first != null ? result.of(first) : blocked;
    }

    @Override
    public long longestNapNs() {
        return LONGEST_NAP_NS;
    }

    @Override
    public void requireSound() {
        String fault = device.fault();
        if (fault != null) {
            throw ErrorKind.DEVICE_FAILED.says(
                    "%s of rank %s has failed: %s; abort the communicator and start the "
                            + "process again",
                    device.name(), links.rank(), fault);
        }
    }
}
