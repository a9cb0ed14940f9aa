package org.jccl.executor;

import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import java.util.function.Predicate;

/**
 * Sends and receives whose data the device moves, from when their lanes are done with them: a
 * receive then knows that its sender has begun and that the two match.
 *
 * <p>Used by the owner of the communicator only.
 */
final class RunningTransfers {
    private final Lanes lanes;
    private final int nRanks;
    private final ArrayDeque<Task> tasks = new ArrayDeque<>();

    /** By peer, for sends, then for receives; each shows the first task of these. */
    private final Blocked[] blocked;

    /** For a look that is not to count as one. */
    private final Blocked glance = new Blocked();

    RunningTransfers(Lanes lanes, int nRanks) {
        this.lanes = lanes;
        this.nRanks = nRanks;
        this.blocked = new Blocked[2 * nRanks];
        for (int i = 0; i < blocked.length; i++) {
            blocked[i] = new Blocked();
        }
    }

    void add(Task task) {
        tasks.add(task);
    }

    boolean isEmpty() {
        return tasks.isEmpty();
    }

    /**
     * Ends those that the device is done with.
     *
     * @return whether there was one
     */
    boolean progress(Consumer<Task> ended) {
        boolean moved = false;
        for (int i = tasks.size(); i > 0; i--) {
            Task task = tasks.remove();
            if (task.delivered()) {
                ended.accept(task);
                moved = true;
            } else {
                tasks.add(task);
            }
        }
        return moved;
    }

    void clear(Consumer<Task> dropped) {
        tasks.forEach(dropped);
        tasks.clear();
    }

    /**
     * What the first of a task's peer and direction waits for, or for null the first of all.
     *
     * @return null if there is none
     */
    @Nullable Blocked blocked(@Nullable Task task) {
        for (Task each : tasks) {
            boolean same = task == null || channel(each) == channel(task);
            if (same && (task == null || task.operation().pointToPoint())) {
                return shown(each);
            }
        }
        return null;
    }

    private Blocked shown(Task task) {
        Blocked shown = blocked[channel(task)].of(task);
        lanes.awaitPeer(task, shown);
        return shown;
    }

    /** Passes on what the first of each peer and direction waits for. */
    void forEachBlocked(ObjLongConsumer<Blocked> action) {
        long seen = 0;
        for (Task task : tasks) {
            long bit = 1L << channel(task);
            if ((seen & bit) == 0) {
                seen |= bit;
                action.accept(shown(task), 0);
            }
        }
    }

    /**
     * One that cannot end without something more from rank {@code q}.
     *
     * @param inDoubt whether one that the rank has come to may still need it
     */
    @Nullable Task needing(int q, Predicate<Task> inDoubt) {
        for (Task task : tasks) {
            if (task.peer() == q && !task.delivered()) {
                lanes.awaitPeer(task, glance);
                boolean late = glance.rank() == q;
                if (late || inDoubt.test(task)) {
                    return task;
                }
            }
        }
        return null;
    }

    private int channel(Task task) {
        return task.peer() + (task.operation() == Operation.SEND ? 0 : nRanks);
    }
}
