package org.jccl.machine;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * What the ranks of one job do: all the same, but for what one of them may do instead.
 *
 * @param nRanks ranks of the job
 * @param blocking whether its communicators block
 * @param steps in this order
 * @param deviations at most one for each rank
 */
public record Script(int nRanks, boolean blocking, List<Step> steps, List<Deviation> deviations) {
    /** A call, or a group of calls. */
    public enum Kind {
        ALL_REDUCE,
        BROADCAST,
        RING,
        SPLIT,
        CHILD_ALL_REDUCE,
        CHILD_CLOSE,
        CHILD_ABORT,
        FINALIZE,
    }

    /**
     * One of the steps.
     *
     * @param argument elements of an operation; of a split, how many colours
     */
    public record Step(Kind kind, int argument) {}

    /** The things that a rank may do instead of a step, or before it. */
    public enum Instead {
        SLEEP,
        CLOSE,
        ABORT,
    }

    /**
     * One rank's own way.
     *
     * @param step before which; 0 is init
     * @param sleepNs how long it sleeps
     */
    public record Deviation(int rank, int step, Instead what, long sleepNs) {}

    /** The deviation of this rank at this step, or null. */
    public @Nullable Deviation deviation(int rank, int step) {
        return deviations.stream()
                .filter(each -> each.rank() == rank && each.step() == step)
                .findFirst()
                .orElse(null);
    }

    /** The kind of this step, or null for init. */
    @Nullable Kind kind(int step) {
        return step == 0 ? null : steps.get(step - 1).kind();
    }

    /** The split that made the child which this step finds or makes; 0 if there is no child. */
    int splitOf(int step) {
        for (int i = step; i >= 1; i--) {
            Kind kind = kind(i);
            if (kind == Kind.SPLIT) {
                return i;
            }
            if (i < step && (kind == Kind.CHILD_CLOSE || kind == Kind.CHILD_ABORT)) {
                return 0;
            }
        }
        return 0;
    }
}
