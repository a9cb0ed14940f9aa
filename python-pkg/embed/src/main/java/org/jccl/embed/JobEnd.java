package org.jccl.embed;

import java.util.List;

/**
 * How a job has ended.
 *
 * @param ranks how each rank has ended, in the order of ranks
 * @param firstFailed the rank that failed first, which the others may only have followed; -1 if
 *     none failed
 */
public record JobEnd(List<RankEnd> ranks, int firstFailed) {
    /** Keeps the list as it is now. */
    public JobEnd {
        ranks = List.copyOf(ranks);
    }

    /** How a rank has ended. */
    public RankEnd rank(int rank) {
        return ranks.get(rank);
    }

    /** The status of a process that ends like this: 0, or that of the rank that failed first. */
    public int status() {
        return firstFailed < 0 ? 0 : ranks.get(firstFailed).status();
    }
}
