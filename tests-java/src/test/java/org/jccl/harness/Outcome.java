package org.jccl.harness;

import java.util.List;
import java.util.stream.Collectors;

/**
 * How a {@link Cluster} ended.
 *
 * @param ranks one result per rank, in order
 * @param output the last part of what the processes printed; empty where ranks were threads
 */
public record Outcome(List<RankResult> ranks, String output) {
    /** The result of one rank. */
    public RankResult rank(int number) {
        return ranks.get(number);
    }

    /** Fails with everything known if any rank did not succeed. */
    public Outcome assertAllSucceeded() {
        if (ranks.stream().anyMatch(r -> r.end() != RankResult.End.SUCCEEDED)) {
            throw new AssertionError("not every rank succeeded:\n" + this);
        }
        return this;
    }

    /** Fails unless every rank said the same; answers what that is. */
    public List<String> assertAllSaidTheSame() {
        for (RankResult rank : ranks) {
            if (!rank.said().equals(ranks.getFirst().said())) {
                throw new AssertionError(
                        "rank "
                                + rank.rank()
                                + " said "
                                + rank.said()
                                + ", but rank 0 "
                                + ranks.getFirst().said());
            }
        }
        return ranks.getFirst().said();
    }

    @Override
    public String toString() {
        return ranks.stream().map(RankResult::toString).collect(Collectors.joining("\n"))
                + (output.isEmpty() ? "" : "\noutput of the processes:\n" + output);
    }
}
