package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.function.Consumer;

/**
 * Sends and receives that the device runs itself, until it has been given them. Each may need the
 * others of its group, so those that a thread hands over before it continues the first are given
 * together: one launch for each of their streams.
 *
 * <p>Any thread.
 */
final class TransferBatches {
    /** What one launch gives to a stream. */
    private static final class Batch {
        final long stream;

        /** Null if the stream is captured. */
        final @Nullable StagingBlock block;

        final List<Task> tasks = new ArrayList<>();

        Batch(long stream, @Nullable StagingBlock block) {
            this.stream = stream;
            this.block = block;
        }
    }

    /** The end of the latest launch of a peer and direction. */
    private record Last(StagingBlock block, long use, long stream) {}

    private final Device device;
    private final DeviceCollectives collectives;
    private final StagingPool pool;
    private final Consumer<Task> finished;
    private final int nRanks;

    /** By thread, what it has handed over and not continued. Guarded by this, as the one below. */
    private final Map<Thread, List<Batch>> open = new HashMap<>();

    /** By peer, for sends, then for receives. */
    private final @Nullable Last[] last;

    /**
     * The batches of a communicator.
     *
     * @param finished gets the tasks of streams that are captured
     */
    TransferBatches(
            Device device,
            DeviceCollectives collectives,
            StagingPool pool,
            int nRanks,
            Consumer<Task> finished) {
        this.device = device;
        this.collectives = collectives;
        this.pool = pool;
        this.nRanks = nRanks;
        this.finished = finished;
        this.last = new Last[2 * nRanks];
    }

    /**
     * Adds a task to those that the thread's next {@link #launch} gives to the device, and queues
     * it.
     *
     * @return whether the host will hear of it, since its stream is not captured
     */
    synchronized boolean add(Task task, Queue<Task> inbox) {
        List<Batch> mine = open.computeIfAbsent(Thread.currentThread(), any -> new ArrayList<>());
        Batch batch = null;
        for (Batch each : mine) {
            batch = each.stream == task.stream() ? each : batch;
        }
        if (batch == null) {
            boolean captured = collectives.isCaptured(task.stream());
            batch = new Batch(task.stream(), captured ? null : pool.take(task, 0));
            mine.add(batch);
        }
        batch.tasks.add(task);
        StagingBlock block = batch.block;
        if (block == null) {
            return false;
        }
        block.hold();
        block.launched = true;
        task.block = block;
        task.bytes = 0;
        inbox.add(task);
        return true;
    }

    /**
     * Gives the device what the thread has added, if anything.
     *
     * @throws org.jccl.type.NcclException if the device refuses any; then those tasks never begin
     */
    void launch() {
        List<Batch> mine;
        RuntimeException failure = null;
        synchronized (this) {
            mine = open.remove(Thread.currentThread());
            if (mine == null) {
                return;
            }
            for (Batch batch : mine) {
                try {
                    launch(batch);
                } catch (RuntimeException refused) {
                    failure = refused;
                }
            }
        }
        for (Batch batch : mine) {
            if (batch.block == null) {
                batch.tasks.forEach(finished);
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    private void launch(Batch batch) {
        StagingBlock block = batch.block;
        if (block == null) {
            collectives.exchange(batch.tasks, 0, 0, 0);
            return;
        }
        boolean given = false;
        try {
            awaitOthers(batch);
            long started = block.word(StagingBlock.ARRIVED);
            long done = block.word(StagingBlock.PASSED);
            collectives.exchange(batch.tasks, started, done, block.use());
            given = true;
            Last end = new Last(block, block.use(), batch.stream);
            for (Task task : batch.tasks) {
                last[channel(task)] = end;
            }
        } finally {
            if (!given) {
                block.set(StagingBlock.PASSED);
            }
            if (block.letGo()) {
                pool.giveBack(block);
            }
        }
    }

    /** The batch's stream waits for launches with the same peers and directions in others. */
    private void awaitOthers(Batch batch) {
        Last awaited = null;
        for (Task task : batch.tasks) {
            Last before = last[channel(task)];
            if (before == null || before.equals(awaited)) {
                continue;
            }
            if (!device.keepsOrder(before.stream, batch.stream)) {
                device.await(before.block.word(StagingBlock.PASSED), before.use, batch.stream);
                awaited = before;
            }
        }
    }

    private int channel(Task task) {
        boolean sends = task.operation() == Operation.SEND;
        return task.peer() + (sends ? 0 : nRanks);
    }
}
