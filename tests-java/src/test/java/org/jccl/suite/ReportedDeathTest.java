package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Faults;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.harness.RunningCluster;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Ranks that hear of a death name the dead rank, and once the rank that has told them. */
final class ReportedDeathTest {
    private static final String REPORTED = "(reported by rank 2)";

    static List<Cluster> fours() {
        return List.of(
                Cluster.processes(4),
                Cluster.processes(4).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.processes(4).nodes(2));
    }

    /** Each rank receives from the next one; the last one only lives until it is killed. */
    public static final class Chain implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try (Arena arena = Arena.ofConfined()) {
                Sums.barrier(comm);
                rank.say("ready");
                MemorySegment data = arena.allocate(4, 4);
                if (rank.number() < 3) {
                    comm.recv(data, 1, DataType.INT32, rank.number() + 1);
                } else {
                    rank.await("death");
                }
            } finally {
                comm.abort();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("fours")
    void deadRankIsNamedByThoseWhoDoNotWaitForIt(Cluster cluster) {
        try (RunningCluster running = cluster.start(Chain.class)) {
            running.awaitAllSaid("ready");
            running.kill(3);
            RankResult first = running.awaitEnd(2);
            first.assertFailed(NcclResult.REMOTE_ERROR, "rank 3 is lost", "while rank 2 waited");
            assertFalse(first.text().contains("reported by"), first.text());
            for (int rank : new int[] {1, 0}) {
                RankResult told = running.awaitEnd(rank);
                told.assertFailed(NcclResult.REMOTE_ERROR, "rank 3 is lost", REPORTED);
                String rest = told.text().replace(REPORTED, "");
                assertEquals(told.text().length() - REPORTED.length(), rest.length(), told.text());
                assertFalse(rest.contains("reported by"), told.text());
            }
            assertEquals(RankResult.End.DIED, running.awaitEnd(3).end());
        }
    }

    /** Rank 0 is stopped as it asks whether rank 1 lives; rank 1 then gives up, and ends. */
    public static final class StoppedAsItAsks implements Scenario {
        private static final Config IMPATIENT = Config.DEFAULT.withTimeout(Duration.ofMillis(100));

        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init(rank.number() == 0 ? Config.DEFAULT : IMPATIENT);
            try (Arena arena = Arena.ofConfined()) {
                Sums.barrier(comm);
                if (rank.number() == 0) {
                    // Not the first one: a look after which something has moved looks again.
                    Faults.arm(Faults.Action.STOP, Faults.Calls.POLLS, 3, 0, 1);
                } else {
                    rank.await("rank 0 is stopped");
                }
                comm.recv(arena.allocate(4, 4), 1, DataType.INT32, 1 - rank.number());
            } finally {
                Faults.disarm();
                comm.abort();
            }
        }
    }

    @Test
    void reasonIsLookedForAgainWhenADeathIsSeen() throws InterruptedException {
        Cluster pair = Faults.preloaded(Cluster.processes(2).once());
        try (RunningCluster running = pair.start(StoppedAsItAsks.class)) {
            while (!running.stopped(0)) {
                assertNull(running.endOf(0));
                Thread.sleep(1);
            }
            Optional<ProcessHandle> second = ProcessHandle.of(running.pid(1));
            running.post("rank 0 is stopped", "");
            running.awaitEnd(1).assertFailed(NcclResult.TIMEOUT, "rank 0");
            second.ifPresent(process -> process.onExit().join());
            running.cont(0);
            running.awaitEnd(0)
                    .assertFailed(NcclResult.REMOTE_ERROR, "rank 1 has waited", "time limit");
        }
    }
}
