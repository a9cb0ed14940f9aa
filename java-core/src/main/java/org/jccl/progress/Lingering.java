package org.jccl.progress;

import org.jccl.executor.Task;
import org.jccl.transport.RegionLayout;

/**
 * Decides whether a thread that starts an operation stays with it for a moment. The peers of most
 * operations are about to come; handing the rest over to a thread that has to be woken, and that
 * wakes another at the end, takes longer than they do. Where peers come later, only one start of
 * many stays.
 *
 * <p>All threads that start operations write the fields, without order: any value is right.
 */
final class Lingering {
    /** The longest time that a start stays. */
    static final long NS = 500_000;

    /**
     * The largest part for which a start stays; more is better moved beside the caller's next work.
     */
    private static final long MOST_BYTES = RegionLayout.DIRECT_BYTES;

    private static final int MOST_PASSED = 8;

    /** Where there is one, no start stays: the peers may be away for a whole slice. */
    final Crowd crowd = new Crowd();

    /** How many starts do not stay after one that stayed in vain; below, how many have not. */
    private int pause;

    private int passed;

    /** Whether the thread that has started this task stays. */
    boolean pays(Task task) {
        return !task.operation().pointToPoint() && task.partBytes() <= MOST_BYTES && pays();
    }

    /** Whether the next start stays. */
    boolean pays() {
        if (passed < pause) {
            passed++;
            return false;
        }
        passed = 0;
        return true;
    }

    /** Learns whether the operation was over in time. */
    void learn(boolean inTime) {
        pause = inTime ? 0 : Math.min(MOST_PASSED, 2 * pause + 1);
    }
}
