package org.jccl.executor;

import org.jccl.call.Call;
import org.jccl.device.Device;
import org.jccl.device.DeviceCollectives;
import org.jccl.transport.CallRecord;
import org.jccl.transport.Links;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * Runs a device's operations. Those that the ranks' devices can run among themselves are theirs:
 * the host only tells the other ranks of the call, and sees when the device begins and ends it (of
 * one rank, it sees that only if somebody asks). Of a send it tells the receiver by a message
 * without data in the lane of the two.
 *
 * <p>The others run on the host, on data that is staged there. The caller's stream copies the input
 * out, says so, waits, copies the result back, and says so; the call returns. An operation begins
 * when its stream has come to it, and is over when its stream has gone on.
 *
 * <p>All that the device is to do is given to it in the call. From then on nobody calls it: in a
 * call that waits until the device has done everything, as CUDA's does that frees memory, all other
 * calls wait too, and an operation that needed one could not end. The caller itself may wait like
 * that in {@link #follow}, so another thread runs the operation by then.
 */
final class StagedEngine extends HostEngine {
    /** Short, since what a device does wakes nobody. */
    private static final long LONGEST_NAP_NS = 2_000_000;

    private static final int ALIGNMENT = 64;

    /** How long a kernel may go on although a rank that has come to it has died. */
    private static final long DOUBT_NS = 1_000_000_000;

    private final Device device;
    private final StagingPool pool;
    private final @Nullable DeviceCollectives collectives;

    /** The sends and receives among them; null where there are none. */
    private final @Nullable TransferBatches batches;

    private final RunningTransfers transfers;
    private final Consumer<Task> delivered = this::delivered;

    /** Held while an operation is put into its stream and into the queue; never by the owner. */
    private final Object order = new Object();

    /**
     * How far {@link #collectives} have come with what they were given, which they run one by one;
     * made when it is first needed, in order.
     */
    private volatile @Nullable StagingBlock progress;

    /**
     * The use of {@link #progress} that is the latest operation, 0 before; its stream. In order.
     */
    private long launchedUse;

    private long launchedIn;

    /** How many operations that were launched are not over. Callers add, the owner subtracts. */
    private final AtomicInteger running = new AtomicInteger();

    /** Whether operations went into graphs, of whose runs the host knows nothing; set once. */
    private volatile boolean captured;

    /** Whether everything has been dropped: what is launched from then on is to stop. */
    private volatile boolean cleared;

    /**
     * For collectives, and for sends and receives. A caller may ask a task what it is although
     * another call has it by now: that is of the same kind, and the device runs it, too.
     */
    private final TaskPool collectiveTasks = new TaskPool();

    private final TaskPool transferTasks = new TaskPool();

    /** See {@link #isInDoubt}. */
    private @Nullable Task doubted;

    private int doubtedCall;
    private long doubtedSinceNs;

    /** Tasks whose results are on their way to the device. */
    private final ArrayDeque<Task> delivering = new ArrayDeque<>();

    /** Shown to a wait while only results are on their way. */
    private final Blocked result = new Blocked();

    StagedEngine(
            Links links,
            Device device,
            @Nullable DeviceCollectives collectives,
            Consumer<Task> over) {
        super(links, over);
        this.device = device;
        this.collectives = collectives;
        this.pool = new StagingPool(device);
        int nRanks = links.nRanks();
        this.batches =
                collectives == null
                        ? null
                        : new TransferBatches(
                                device, collectives, pool, links.rank(), nRanks, over);
        this.transfers = new RunningTransfers(lanes, nRanks);
    }

    @Override
    public Task task(Call call) {
        boolean launches =
                collectives != null && call.redOp() != CallRecord.SPLIT && collectives.takes(call);
        if (!launches) {
            return new Task();
        }
        return (call.operation().pointToPoint() ? transferTasks : collectiveTasks).take();
    }

    @Override
    public boolean enqueue(Task task, Inbox inbox) {
        if (task.isOnHost()) {
            return inbox.add(task);
        }
        if (task.composed() != null) {
            throw ErrorKind.NOT_DONE_YET.says(
                    "jcclStartComposed is not done yet on a device; see DIFFERENCES.md");
        }
        if (collectives != null && batches != null && collectives.takes(task)) {
            if (!task.operation().pointToPoint()) {
                task.runsOnDevice = true;
                if (task.pool != null && !collectives.awaitsRanks()) {
                    launchUntold(collectives, task, inbox);
                } else {
                    launch(collectives, task, inbox);
                }
            } else if (batches.add(task, inbox)) {
                running.incrementAndGet();
            } else {
                captured = true;
            }
            return false;
        }
        if (collectives != null && task.count() == 0 && collectives.isCaptured(task.stream())) {
            // There is nothing to repeat.
            finished.accept(task);
            return false;
        }
        stage(task, inbox);
        return true;
    }

    /**
     * Gives the task's stream the whole operation, and queues the task. A device runs a
     * communicator's operations one by one, whatever their streams.
     */
    private void launch(DeviceCollectives by, Task task, Inbox inbox) {
        boolean repeats;
        synchronized (order) {
            StagingBlock block = progress(task);
            long use = StagingBlock.newUse();
            running.incrementAndGet();
            try {
                long done = block.word(StagingBlock.PASSED);
                awaitLaunched(by, task.stream(), done);
                repeats = by.launch(task, block.word(StagingBlock.ARRIVED), done, use);
            } catch (RuntimeException | Error refused) {
                running.decrementAndGet();
                throw refused;
            }
            if (repeats) {
                // The host knows nothing of the times that the graph will run.
                captured = true;
                running.decrementAndGet();
            } else {
                block.begin(use);
                launchedUse = use;
                launchedIn = task.stream();
                task.told(block, use);
                inbox.add(task);
            }
        }
        stopIfCleared();
        if (repeats) {
            finished.accept(task);
        }
    }

    /**
     * Gives the task's stream an operation that nobody asks about and that needs no other rank. For
     * the host it is over once the stream has it.
     */
    private void launchUntold(DeviceCollectives by, Task task, Inbox inbox) {
        if (by.launch(task, 0, 0, 0)) {
            captured = true;
            finished.accept(task);
        } else {
            running.incrementAndGet();
            inbox.add(task);
        }
    }

    /** What is untold waits for nothing, and so for no operation before it either. */
    @Override
    public void add(Task task) {
        if (task.runsOnDevice && task.block() == null) {
            counters.collective(task);
            delivered(task);
        } else {
            super.add(task);
        }
    }

    /** A stream waits for the latest operation, if it is in another one. */
    private void awaitLaunched(DeviceCollectives by, long stream, long done) {
        boolean ordered = launchedUse == 0 || device.keepsOrder(launchedIn, stream);
        if (!ordered && !by.isCaptured(stream)) {
            device.await(done, launchedUse, stream);
        }
    }

    private StagingBlock progress(Task task) {
        StagingBlock known = progress;
        if (known == null) {
            known = pool.take(task, 0);
            // Of the use that it is taken for there is no operation.
            known.set(StagingBlock.PASSED);
            progress = known;
        }
        return known;
    }

    /** An operation that was launched while all were dropped was not among them. */
    private void stopIfCleared() {
        if (cleared && collectives != null) {
            collectives.stop();
        }
    }

    /** Gives the task's stream what comes before the operation, and queues the task. */
    private void stage(Task task, Inbox inbox) {
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
                if (in > 0) {
                    device.copyOut(block.data() + inAt, task.input(), in, task.stream());
                    copied = true;
                }
                device.write(block.word(StagingBlock.ARRIVED), block.use(), task.stream());
            } catch (RuntimeException | Error refused) {
                // Nobody can use the block while a copy into it is under way.
                if (!copied) {
                    block.set(StagingBlock.PASSED);
                }
                pool.giveBack(block);
                throw refused;
            }
            block.output = task.output();
            block.outputBytes = out;
            block.result = block.data() + outAt;
            task.told(block, block.use());
            task.buffers(block.data() + inAt, block.result);
            inbox.add(task);
        }
    }

    @Override
    public boolean joinsBatch(Task task) {
        return isTransfer(task) && batches != null && batches.anyOpen();
    }

    @Override
    public boolean wentWithBatch(Task task) {
        return isTransfer(task) && batches != null && !batches.anyOpen();
    }

    private boolean isTransfer(Task task) {
        boolean transfers = task.operation().pointToPoint() && !task.isOnHost();
        return transfers && collectives != null && collectives.takes(task);
    }

    /** The block stays as it is until its stream has passed, also if the task is over by now. */
    @Override
    public boolean follow(Task task) {
        if (batches != null && isTransfer(task)) {
            try {
                batches.launch();
            } finally {
                stopIfCleared();
            }
        }
        if (task.runsOnDevice) {
            return true;
        }
        StagingBlock block = task.block();
        if (block == null) {
            return false;
        }
        long stream = task.stream();
        device.await(block.word(StagingBlock.DELIVERED), block.use(), stream);
        if (block.outputBytes > 0) {
            device.copyIn(block.output, block.result, block.outputBytes, stream);
        }
        device.write(block.word(StagingBlock.PASSED), block.use(), stream);
        return true;
    }

    @Override
    public boolean callersWait() {
        return false;
    }

    /** The result is there, in host memory. */
    @Override
    void finish(Task task) {
        StagingBlock block = task.block();
        if (block == null) {
            super.finish(task);
        } else if (task.runsOnDevice && task.operation().pointToPoint()) {
            transfers.add(task);
        } else {
            if (!task.runsOnDevice) {
                block.set(StagingBlock.DELIVERED);
            }
            delivering.add(task);
        }
    }

    @Override
    public boolean progress() {
        boolean moved = super.progress();
        while (!delivering.isEmpty() && delivering.element().delivered()) {
            delivered(delivering.remove());
            moved = true;
        }
        return transfers.progress(delivered) || moved;
    }

    private void delivered(Task task) {
        if (task.runsOnDevice) {
            running.decrementAndGet();
        }
        release(task);
        finished.accept(task);
        if (task.pool != null) {
            task.pool.giveBack(task);
        }
    }

    @Override
    public void clear(Consumer<Task> dropped) {
        cleared = true;
        if (collectives != null && (captured || running.get() > 0)) {
            collectives.stop();
        }
        super.clear(dropped);
        delivering.forEach(dropped);
        delivering.clear();
        transfers.clear(dropped);
    }

    /** After a failure the stream copies what is there: the caller's result is undefined. */
    @Override
    public void release(Task task) {
        StagingBlock block = task.block();
        if (block != null && block != progress) {
            if (!task.runsOnDevice) {
                block.set(StagingBlock.DELIVERED);
            }
            if (block.letGo()) {
                pool.giveBack(block);
            }
        }
    }

    @Override
    public @Nullable Blocked blocked(@Nullable Task task) {
        Blocked blocked = super.blocked(task);
        blocked = blocked == null ? transfers.blocked(task) : blocked;
        Task first = delivering.peek();
        return blocked == null && first != null ? result.of(first) : blocked;
    }

    @Override
    public int launched() {
        return running.get();
    }

    private boolean anyLaunched() {
        for (Task task : delivering) {
            if (task.runsOnDevice) {
                return true;
            }
        }
        return false;
    }

    @Override
    public boolean idle() {
        return super.idle() && !anyLaunched() && transfers.isEmpty();
    }

    @Override
    public boolean severalLanes() {
        return super.severalLanes() || !transfers.isEmpty();
    }

    @Override
    public void forEachBlocked(ObjLongConsumer<Blocked> action) {
        super.forEachBlocked(action);
        Task first = delivering.peek();
        if (first != null && anyLaunched()) {
            action.accept(result.of(first), 0);
        }
        transfers.forEachBlocked(action);
    }

    /**
     * What a device has begun needs each rank that has not come to it. One that has come and has
     * left since has done its part; one that has come and died may have, which shows soon.
     */
    @Override
    public @Nullable Task needing(int q) {
        boolean left = links.region(q).hasLeft();
        for (Task task : delivering) {
            boolean running = task.runsOnDevice && !task.delivered();
            if (running && (!hasCome(q, task) || (!left && isInDoubt(task)))) {
                return task;
            }
        }
        Task transfer = transfers.needing(q, task -> !left && isInDoubt(task));
        return transfer != null ? transfer : super.needing(q);
    }

    /**
     * Whether an operation has gone on for a while since it was first asked for; of several, the
     * first is looked at until it is over.
     */
    private boolean isInDoubt(Task task) {
        Task known = doubted;
        if (known == null || known.calls() != doubtedCall || known.delivered() || known.over()) {
            doubted = task;
            doubtedCall = task.calls();
            doubtedSinceNs = System.nanoTime();
        }
        return doubted == task && System.nanoTime() - doubtedSinceNs >= DOUBT_NS;
    }

    @Override
    public void close() {
        super.close();
        StagingBlock block = progress;
        if (block != null) {
            pool.giveBack(block);
        }
        pool.close();
        if (collectives != null) {
            collectives.close();
        }
    }

    @Override
    public long longestNapNs() {
        return LONGEST_NAP_NS;
    }

    @Override
    public void requireSound() {
        if (collectives != null) {
            NcclException.throwIfAny(collectives.failure());
        }
        String fault = device.fault();
        if (fault != null) {
            throw ErrorKind.DEVICE_FAILED.says(
                    "%s of rank %s has failed: %s; abort the communicator and start the "
                            + "process again",
                    device.name(), links.rank(), fault);
        }
    }
}
