package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.type.ErrorKind;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * Sends and receives that the device runs itself, until it has been given them. Each may need the
 * others of its group, so those that a thread hands over before it continues the first are given
 * together, in the stream of the first; other streams of the group are waited for, and wait.
 *
 * <p>Any thread.
 */
final class TransferBatches {
    private static final int SMALLEST = 8;

    /** A batch that was larger does not serve again. */
    private static final int MOST_KEPT = 1024;

    /** A stream of a group besides the first, and words by which the two wait for each other. */
    private record Other(long stream, StagingBlock block) {}

    /** What a thread has handed over and is given together; serves again. */
    private static final class Batch {
        @Nullable Thread thread;
        long stream;

        /** Null if the stream is captured. */
        @Nullable StagingBlock block;

        /** Where its tasks are to go. */
        @Nullable Inbox inbox;

        final List<Task> tasks = new ArrayList<>();

        /** Peer and direction of each: once it is over, a task may stand for another call. */
        int[] channels = new int[SMALLEST];

        final List<Other> others = new ArrayList<>();

        void add(Task task, int channel) {
            int n = tasks.size();
            if (n == channels.length) {
                channels = Arrays.copyOf(channels, 2 * n);
            }
            channels[n] = channel;
            task.link = n == 0 ? null : tasks.getLast();
            tasks.add(task);
        }

        boolean knows(long itsStream) {
            boolean known = stream == itsStream;
            for (int i = 0; i < others.size(); i++) {
                known |= others.get(i).stream == itsStream;
            }
            return known;
        }
    }

    /** The end of the latest launch of a peer and direction. */
    private static final class Last {
        @Nullable StagingBlock block;
        long use;
        long stream;

        void set(StagingBlock itsBlock, long itsStream) {
            block = itsBlock;
            use = itsBlock.use();
            stream = itsStream;
        }
    }

    private final Device device;
    private final DeviceCollectives collectives;
    private final StagingPool pool;
    private final Consumer<Task> finished;
    private final int rank;
    private final int nRanks;

    /** One for each thread that has handed over something and not continued it. Guarded by this. */
    private final List<Batch> open = new ArrayList<>();

    /** One that is not open, for the next thread; guarded by this, as the next. */
    private @Nullable Batch spare;

    /** By peer, for sends, then for receives. */
    private final Last[] last;

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
        Arrays.setAll(last, i -> new Last());
    }

    private @Nullable Batch mine() {
        Thread thread = Thread.currentThread();
        for (int i = 0; i < open.size(); i++) {
            if (thread.equals(open.get(i).thread)) {
                return open.get(i);
            }
        }
        return null;
    }

    private Batch begin(Task task, Inbox inbox) {
        boolean captured = collectives.isCaptured(task.stream());
        StagingBlock block = captured ? null : pool.take(task, 0);
        Batch batch = spare == null ? new Batch() : spare;
        spare = null;
        batch.thread = Thread.currentThread();
        batch.stream = task.stream();
        batch.block = block;
        batch.inbox = inbox;
        return batch;
    }

    private void clear(Batch batch) {
        batch.thread = null;
        batch.block = null;
        batch.inbox = null;
        spare = batch.channels.length > MOST_KEPT ? null : batch;
        batch.tasks.clear();
        batch.others.clear();
    }

    /** Whether the thread has added something that was not launched. */
    synchronized boolean anyOpen() {
        return mine() != null;
    }

    /**
     * Adds a task to those that the thread's next {@link #launch} queues and gives to the device.
     *
     * @return whether the host will hear of it, since its stream is not captured
     * @throws org.jccl.type.NcclException if it is refused
     */
    synchronized boolean add(Task task, Inbox inbox) {
        Batch known = mine();
        Batch batch = known == null ? begin(task, inbox) : known;
        if (!batch.knows(task.stream())) {
            if (batch.block == null || collectives.isCaptured(task.stream())) {
                throw ErrorKind.NOT_DONE_YET.says(
                        "a group with sends and receives in several streams, one of which is being"
                                + " captured, is not done yet in JCCL; use one stream; see"
                                + " DIFFERENCES.md");
            }
            batch.others.add(new Other(task.stream(), pool.take(task, 0)));
        }
        task.runsOnDevice = true;
        StagingBlock block = batch.block;
        if (block != null) {
            task.told(block, block.use());
            task.bytes = 0;
        }
        batch.add(task, channel(task));
        if (known == null) {
            open.add(batch);
        }
        return block != null;
    }

    /**
     * Queues what the thread has added, if anything, and gives it to the device.
     *
     * @throws org.jccl.type.NcclException if the device refuses it; then those tasks never begin
     */
    synchronized void launch() {
        Batch batch = mine();
        if (batch == null) {
            return;
        }
        open.remove(batch);
        try {
            StagingBlock block = batch.block;
            Inbox inbox = batch.inbox;
            if (block == null || inbox == null) {
                launchCaptured(batch);
                return;
            }
            int n = batch.tasks.size();
            block.hold(n);
            inbox.addAll(batch.tasks.getLast(), batch.tasks.getFirst());
            launch(batch, block);
        } finally {
            clear(batch);
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
            for (int i = 0; i < batch.tasks.size(); i++) {
                last[batch.channels[i]].set(block, batch.stream);
            }
            for (int i = 0; i < batch.others.size(); i++) {
                Other other = batch.others.get(i);
                StagingBlock own = other.block;
                device.await(done, block.use(), other.stream);
                device.write(own.word(StagingBlock.PASSED), own.use(), other.stream);
            }
        } finally {
            if (!given) {
                block.set(StagingBlock.PASSED);
            }
            if (block.letGo()) {
                pool.giveBack(block);
            }
            for (int i = 0; i < batch.others.size(); i++) {
                pool.giveBack(batch.others.get(i).block);
            }
        }
    }

    /** What a rank sends to itself is copied, which needs both ends. */
    private void requireOwnMatch(Batch batch) {
        int sent = 0;
        int received = 0;
        for (int i = 0; i < batch.tasks.size(); i++) {
            Task task = batch.tasks.get(i);
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
        long awaited = 0;
        for (int i = 0; i < batch.tasks.size(); i++) {
            Last before = last[batch.channels[i]];
            StagingBlock block = before.block;
            if (block == null || before.use == awaited) {
                continue;
            }
            if (!device.keepsOrder(before.stream, batch.stream)) {
                device.await(block.word(StagingBlock.PASSED), before.use, batch.stream);
                awaited = before.use;
            }
        }
        for (int i = 0; i < batch.others.size(); i++) {
            Other other = batch.others.get(i);
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
