package org.jccl.progress;

import org.jccl.executor.Task;
import org.jccl.transport.RegionLayout;

/**
 * Whether who starts an operation of a communicator stays with it for a moment. The peers of most
 * are about to come; to hand the rest over to a thread that has to be woken, and whose end wakes
 * another, takes longer than they do. Where they come later, only one start of many tries.
 *
 * <p>Written by all who start operations, without order: any value is right.
 */
final class Lingering {
    /** How long a start stays, at most. */
    static final long NS = 500_000;

    /**
     * What a rank gives or gets per part: more is better moved beside what the caller does next.
     */
    private static final long MOST_BYTES = RegionLayout.DIRECT_BYTES;

    private static final int MOST_PASSED = 8;

    /** How many starts pass after one that stayed in vain. */
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
