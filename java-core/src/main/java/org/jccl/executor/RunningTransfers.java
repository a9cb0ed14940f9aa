package org.jccl.executor;

import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import java.util.function.Predicate;

/**
 * Sends and receives whose data the device moves, from when their lanes are done with them: a
 * receive then knows that its sender has begun and that the two match. The device is done with
 * those of one peer and direction in their order.
 *
 * <p>Used by the owner of the communicator only.
 */
final class RunningTransfers {
    /** Those of one peer and direction. */
    private static final class Channel {
        final ArrayDeque<Task> tasks = new ArrayDeque<>();

        /** Shows the first. */
        final Blocked blocked = new Blocked();
    }

    private final Lanes lanes;
    private final int nRanks;

    /** By peer, made when first used: sends, then receives. */
    private final @Nullable Channel[] byPeer;

    /** Those that were made. */
    private final List<Channel> made = new ArrayList<>();

    private int size;

    /** For a look that is not to count as one. */
    private final Blocked glance = new Blocked();

    RunningTransfers(Lanes lanes, int nRanks) {
        this.lanes = lanes;
        this.nRanks = nRanks;
        this.byPeer = new Channel[2 * nRanks];
    }

    void add(Task task) {
        int at = at(task);
        Channel channel = byPeer[at];
        if (channel == null) {
            channel = new Channel();
            byPeer[at] = channel;
            made.add(channel);
        }
        channel.tasks.add(task);
        size++;
    }

    boolean isEmpty() {
        return size == 0;
    }

    /**
     * Ends those that the device is done with.
     *
     * @return whether there was one
     */
    boolean progress(Consumer<Task> ended) {
        int before = size;
        for (int i = 0; size > 0 && i < made.size(); i++) {
            ArrayDeque<Task> tasks = made.get(i).tasks;
            for (Task first = tasks.peek(); isDelivered(first); first = tasks.peek()) {
                size--;
                ended.accept(tasks.remove());
            }
        }
        return size < before;
    }

    private static boolean isDelivered(@Nullable Task task) {
        return task != null && task.delivered();
    }

    void clear(Consumer<Task> dropped) {
        for (Channel channel : made) {
            channel.tasks.forEach(dropped);
            channel.tasks.clear();
        }
        size = 0;
    }

    /**
     * What the first of a task's peer and direction waits for, or for null the first of any.
     *
     * @return null if there is none
     */
    @Nullable Blocked blocked(@Nullable Task task) {
        if (task != null) {
            Channel channel = task.operation().pointToPoint() ? byPeer[at(task)] : null;
            return channel == null ? null : shown(channel);
        }
        for (Channel channel : made) {
            Blocked shown = shown(channel);
            if (shown != null) {
                return shown;
            }
        }
        return null;
    }

    private @Nullable Blocked shown(Channel channel) {
        Task first = channel.tasks.peek();
        if (first == null) {
            return null;
        }
        Blocked shown = channel.blocked.of(first);
        lanes.awaitPeer(first, shown);
        return shown;
    }

    /** Passes on what the first of each peer and direction waits for. */
    void forEachBlocked(ObjLongConsumer<Blocked> action) {
        for (Channel channel : made) {
            Blocked shown = shown(channel);
            if (shown != null) {
                action.accept(shown, 0);
            }
        }
    }

    /**
     * One that cannot end without something more from rank {@code q}. Of those that one kernel
     * moves, the rank may have come to the first only.
     *
     * @param inDoubt whether one that the rank has come to may still need it
     */
    @Nullable Task needing(int q, Predicate<Task> inDoubt) {
        for (int at = q; at < byPeer.length; at += nRanks) {
            Channel channel = byPeer[at];
            Task needing = channel == null ? null : needing(channel, q, inDoubt);
            if (needing != null) {
                return needing;
            }
        }
        return null;
    }

    private @Nullable Task needing(Channel channel, int q, Predicate<Task> inDoubt) {
        for (Task task : channel.tasks) {
            if (!task.delivered()) {
                lanes.awaitPeer(task, glance);
                boolean late = glance.rank() == q;
                if (late || inDoubt.test(task)) {
                    return task;
                }
            }
        }
        return null;
    }

    private int at(Task task) {
        return task.peer() + (task.operation() == Operation.SEND ? 0 : nRanks);
    }
}
