package org.jccl.executor;

import org.jccl.device.Device;
import org.jccl.transport.Links;
import org.jccl.type.ErrorKind;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.Consumer;

/**
 * Runs a device's operations on the host, on data that {@link DeviceQueue} stages there. An
 * operation begins when its stream has come to it, and is over when its result is on the device.
 */
final class StagedEngine extends HostEngine {
    /** Short, since what a device does wakes nobody. */
    private static final long LONGEST_NAP_NS = 2_000_000;

    private final DeviceQueue queue;

    /** Tasks whose results are on their way to the device. */
    private final ArrayDeque<Task> delivering = new ArrayDeque<>();

    /** Shown to a wait while only results are on their way. */
    private final Blocked result = new Blocked();

    StagedEngine(Links links, Device device, Consumer<Task> over) {
        super(links, over);
        this.queue = new DeviceQueue(device, links.rank(), links.nRanks());
    }

    /** The result is there, in host memory. */
    @Override
    void finish(Task task) {
        StagingBlock staging = task.block;
        if (staging == null) {
            super.finish(task);
        } else {
            delivering.add(task);
            queue.deliver(task, staging);
        }
    }

    @Override
    public void enqueue(Task task, Queue<Task> inbox) {
        if (task.hostData) {
            inbox.add(task);
        } else if (task.composed() != null) {
            throw ErrorKind.NOT_DONE_YET.says(
                    "jcclStartComposed is not done yet on a device; see DIFFERENCES.md");
        } else {
            queue.stage(task, inbox);
        }
    }

    @Override
    public boolean follow(Task task) {
        StagingBlock staging = task.block;
        if (staging != null) {
            queue.awaitInStream(task, staging);
        }
        return staging != null;
    }

    @Override
    public boolean callersWait() {
        return false;
    }

    @Override
    public boolean progress() {
        boolean moved = super.progress();
        Task first = delivering.peek();
        while (first != null && first.delivered()) {
            delivering.remove();
            release(first);
            finished.accept(first);
            moved = true;
            first = delivering.peek();
        }
        return moved;
    }

    @Override
    public void clear(Consumer<Task> dropped) {
        Consumer<Task> ended =
                task -> {
                    release(task);
                    dropped.accept(task);
                };
        super.clear(ended);
        delivering.forEach(ended);
        delivering.clear();
    }

    @Override
    public void release(Task task) {
        queue.release(task);
    }

    @Override
    public void close() {
        super.close();
        queue.close();
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
        queue.requireSound();
    }
}
