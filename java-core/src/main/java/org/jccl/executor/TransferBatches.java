package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.type.ErrorKind;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Sends and receives that the device runs itself, until it has been given them. Each may need the
 * others of its group, so those that a thread hands over before it continues the first are given
 * together, in the stream of the first; other streams of the group are waited for, and wait.
 *
 * <p>Any thread.
 */
final class TransferBatches {
    /** A stream of a group besides the first, and words by which the two wait for each other. */
    private record Other(long stream, StagingBlock block) {}

    /** What is given together. */
    private static final class Batch {
        final long stream;

        /** Null if the stream is captured. */
        final @Nullable StagingBlock block;

        final List<Task> tasks = new ArrayList<>();
        final List<Other> others = new ArrayList<>();

        Batch(long stream, @Nullable StagingBlock block) {
            this.stream = stream;
            this.block = block;
        }

        boolean knows(long itsStream) {
            boolean known = stream == itsStream;
            for (Other other : others) {
                known |= other.stream == itsStream;
            }
            return known;
        }
    }

    /** The end of the latest launch of a peer and direction. */
    private record Last(StagingBlock block, long use, long stream) {}

    private final Device device;
    private final DeviceCollectives collectives;
    private final StagingPool pool;
    private final Consumer<Task> finished;
    private final int rank;
    private final int nRanks;

    /** By thread, what it has handed over and not continued. Guarded by this, as the one below. */
    private final Map<Thread, Batch> open = new HashMap<>();

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
            int rank,
            int nRanks,
            Consumer<Task> finished) {
        this.device = device;
        this.collectives = collectives;
        this.pool = pool;
        this.rank = rank;
        this.nRanks = nRanks;
        this.finished = finished;
        this.last = new Last[2 * nRanks];
    }

    /**
     * Adds a task to those that the thread's next {@link #launch} gives to the device, and queues
     * it.
     *
     * @return whether the host will hear of it, since its stream is not captured
     * @throws org.jccl.type.NcclException if it is refused; then it is in no queue
     */
    synchronized boolean add(Task task, Inbox inbox) {
        Batch batch = open.get(Thread.currentThread());
        if (batch == null) {
            boolean captured = collectives.isCaptured(task.stream());
            batch = new Batch(task.stream(), captured ? null : pool.take(task, 0));
            open.put(Thread.currentThread(), batch);
        } else if (!batch.knows(task.stream())) {
            if (batch.block == null || collectives.isCaptured(task.stream())) {
                throw ErrorKind.NOT_DONE_YET.says(
                        "a group with sends and receives in several streams, one of which is being"
                                + " captured, is not done yet in JCCL; use one stream; see"
                                + " DIFFERENCES.md");
            }
            batch.others.add(new Other(task.stream(), pool.take(task, 0)));
        }
        batch.tasks.add(task);
        StagingBlock block = batch.block;
        if (block == null) {
            return false;
        }
        block.hold();
        block.launched = true;
        task.told(block, block.use());
        task.bytes = 0;
        inbox.add(task);
        return true;
    }

    /**
     * Gives the device what the thread has added, if anything.
     *
     * @throws org.jccl.type.NcclException if the device refuses it; then those tasks never begin
     */
    void launch() {
        synchronized (this) {
            Batch batch = open.remove(Thread.currentThread());
            if (batch == null) {
                return;
            }
            StagingBlock block = batch.block;
            if (block == null) {
                launchCaptured(batch);
            } else {
                launch(batch, block);
            }
        }
    }

    /** The host does not take part in what a graph repeats. */
    private void launchCaptured(Batch batch) {
        try {
            requireOwnMatch(batch);
            collectives.exchange(batch.tasks, 0, 0, 0);
        } finally {
            batch.tasks.forEach(finished);
        }
    }

    private void launch(Batch batch, StagingBlock block) {
        boolean given = false;
        try {
            requireOwnMatch(batch);
            awaitOthers(batch);
            long started = block.word(StagingBlock.ARRIVED);
            long done = block.word(StagingBlock.PASSED);
            collectives.exchange(batch.tasks, started, done, block.use());
            given = true;
            Last end = new Last(block, block.use(), batch.stream);
            for (Task task : batch.tasks) {
                last[channel(task)] = end;
            }
            for (Other other : batch.others) {
                StagingBlock own = other.block;
                device.await(done, block.use(), other.stream);
                device.write(own.word(StagingBlock.PASSED), own.use(), other.stream);
            }
        } finally {
            // A part of a large group may have been given, and may write to the block: it is lost.
            if (!given && batch.tasks.size() <= DeviceCollectives.AT_ONCE) {
                block.set(StagingBlock.PASSED);
            }
            if (block.letGo()) {
                pool.giveBack(block);
            }
            batch.others.forEach(other -> pool.giveBack(other.block));
        }
    }

    /** What a rank sends to itself is copied, which needs both ends. */
    private void requireOwnMatch(Batch batch) {
        int sent = 0;
        int received = 0;
        for (Task task : batch.tasks) {
            if (task.peer() == rank) {
                sent += task.operation() == Operation.SEND ? 1 : 0;
                received += task.operation() == Operation.SEND ? 0 : 1;
            }
        }
        if (sent != received) {
            throw ErrorKind.UNMATCHED.says(
                    "rank %s sends %s messages to itself in a group, and receives %s; on a device"
                            + " both belong in the same group",
                    rank, sent, received);
        }
    }

    /**
     * The batch's stream waits for launches with the same peers and directions in other streams,
     * and for the other streams of the group.
     */
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
        for (Other other : batch.others) {
            long word = other.block.word(StagingBlock.ARRIVED);
            device.write(word, other.block.use(), other.stream);
            device.await(word, other.block.use(), batch.stream);
        }
    }

    private int channel(Task task) {
        boolean sends = task.operation() == Operation.SEND;
        return task.peer() + (sends ? 0 : nRanks);
    }
}
