package org.jccl.embed;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

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

    /**
     * The end of a job whose ranks failed in this order. A rank that only says that another one is
     * gone (RemoteError) may be heard of before the one that it followed.
     */
    static JobEnd of(List<RankEnd> ranks, List<Integer> failed) {
        List<Integer> bad =
                Stream.concat(failed.stream(), IntStream.range(0, ranks.size()).boxed())
                        .filter(rank -> ranks.get(rank).status() != 0)
                        .toList();
        return bad.stream()
                .filter(rank -> !follows(ranks.get(rank)))
                .findFirst()
                .or(() -> bad.stream().findFirst())
                .map(first -> new JobEnd(ranks, first))
                .orElseGet(() -> new JobEnd(ranks, -1));
    }

    private static boolean follows(RankEnd end) {
        return end instanceof RankEnd.Raised raised
                && (raised.type().equals("NCCLError")
                        ? raised.message().startsWith("RemoteError ")
                        : raised.type().equals("DistBackendError")
                                && raised.message().endsWith("(ncclResult_t 6)"));
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
