package org.jccl.embed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

/** Whose status a job has. */
final class JobEndTest {
    private static final RankEnd GOOD = new RankEnd.Returned(null);
    private static final RankEnd LATE = new RankEnd.Late(Duration.ofSeconds(1));
    private static final RankEnd FOLLOWER =
            new RankEnd.Raised("NCCLError", "RemoteError (6): rank 1 aborted", "");

    private static JobEnd end(List<Integer> failed, RankEnd... ranks) {
        return JobEnd.of(List.of(ranks), failed);
    }

    @Test
    void aRankThatEndedWellIsNotTheFirstToFail() {
        JobEnd end = end(List.of(0), GOOD, LATE);
        assertEquals(1, end.firstFailed());
        assertEquals(RankEnd.LATE_STATUS, end.status());
        assertEquals(-1, end(List.of(0), GOOD, GOOD).firstFailed());
    }

    @Test
    void aRankThatOnlyFollowedIsTheFirstToFailIfAllFollowed() {
        RankEnd exited = new RankEnd.Exited(5);
        assertEquals(5, end(List.of(0, 1), FOLLOWER, exited).status());
        assertEquals(1, end(List.of(1, 0), FOLLOWER, FOLLOWER).firstFailed());
    }
}
