package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.transport.Links;
import org.jccl.type.CallError;
import org.jspecify.annotations.Nullable;

import java.util.Queue;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;

/**
 * Runs a device's operations on the host, on data that {@link DeviceQueue} stages there. An
 * operation begins when its stream has come to it, and is over when its result is on the device.
 */
final class StagedEngine implements Engine {
    /** What a device does wakes nobody. */
    private static final long LONGEST_NAP_NS = 2_000_000;

    private final HostEngine host;
    private final DeviceQueue queue;
    private final Consumer<Task> over;

    /** What a wait is shown while nothing but results is on its way. */
    private final Blocked result = new Blocked();

    StagedEngine(Links links, Device device, Consumer<Task> over) {
        this.host = new HostEngine(links, this::computed);
        this.queue = new DeviceQueue(device, links.rank(), links.nRanks());
        this.over = over;
    }

    /** The result is there, in host memory. */
    private void computed(Task task) {
        StagingBlock staging = task.block;
        if (staging == null) {
            over.accept(task);
        } else {
            queue.deliver(task, staging);
        }
    }

    @Override
    public void enqueue(Task task, Queue<Task> inbox) {
        if (task.hostData) {
            inbox.add(task);
        } else if (task.composed() != null) {
            throw CallError.NOT_DONE_YET.says(
                    "jcclStartComposed is not done yet on a device; see DIFFERENCES.md");
        } else {
            queue.stage(task, inbox);
        }
    }

    @Override
    public boolean follow(Task task) {
        if (task.block == null) {
            return false;
        }
        queue.awaitInStream(task);
        return true;
    }

    @Override
    public boolean callersWait() {
        return false;
    }

    @Override
    public void add(Task task) {
        host.add(task);
    }

    @Override
    public boolean isFree() {
        return host.isFree();
    }

    @Override
    public boolean runNow(Task task, int tries) {
        return host.runNow(task, tries);
    }

    @Override
    public boolean progress() {
        boolean moved = host.progress();
        moved |= queue.progress(over);
        return moved;
    }

    @Override
    public void clear(Consumer<Task> dropped) {
        Consumer<Task> ended =
                task -> {
                    release(task);
                    dropped.accept(task);
                };
        host.clear(ended);
        queue.clear(ended);
    }

    @Override
    public void release(Task task) {
        queue.release(task);
    }

    @Override
    public void close() {
        host.close();
        queue.close();
    }

    @Override
    public boolean idle() {
        return host.idle();
    }

    @Override
    public @Nullable Blocked blocked(@Nullable Task task) {
        Blocked blocked = host.blocked(task);
        Task first = queue.first();
        return blocked == null && first != null ? result.of(first) : blocked;
    }

    @Override
    public void forEachBlocked(ObjLongConsumer<Blocked> action) {
        host.forEachBlocked(action);
    }

    @Override
    public boolean severalLanes() {
        return host.severalLanes();
    }

    @Override
    public @Nullable Task needing(int q) {
        return host.needing(q);
    }

    @Override
    public long longestNapNs() {
        return LONGEST_NAP_NS;
    }

    @Override
    public void requireSound() {
        queue.requireSound();
    }

    @Override
    public boolean hasComeTo(int q, int ahead) {
        return host.hasComeTo(q, ahead);
    }

    @Override
    public void requireSameCall() {
        host.requireSameCall();
    }

    @Override
    public long numberOf(Task task) {
        return host.numberOf(task);
    }

    @Override
    public Counters counters() {
        return host.counters();
    }
}
