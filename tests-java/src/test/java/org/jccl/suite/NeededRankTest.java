package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.Group;
import org.jccl.harness.Cluster;
import org.jccl.harness.Host;
import org.jccl.harness.Rank;
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

/**
 * Rank 2 is needed and dead, gone or late, and something else hides it: rank 1 that is late too,
 * thousands of operations, or traffic between others on the same communicator.
 */
final class NeededRankTest {
    private static final int LARGE = 2 << 20;

    /** The largest group for which the limits are promised, without the operations with rank 2. */
    private static final int MANY = 4094;

    private static final long DEATH_KNOWN_WITHIN_NS = 5_000_000_000L;
    private static final long LEAVING_KNOWN_WITHIN_NS = 1_000_000_000L;
    private static final int LIMIT_S = 2;

    /** The promised time is much shorter; the test does not wait longer for a rank that hangs. */
    private static final int DEADLINE_S = 90;

    static List<Cluster> threes() {
        return List.of(Cluster.processes(3), Cluster.processes(3).nodes(3));
    }

    /** Also as threads of one process, which need not look at each other's processes. */
    static List<Cluster> threesThatMayLeave() {
        return List.of(
                Cluster.processes(3),
                Cluster.processes(3).nodes(3),
                Cluster.processes(3).ranksPerProcess(3));
    }

    /** Rank 1 comes when it is let. Rank 2 never does: it is killed, or leaves. */
    public static final class OthersAreLate implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try {
                Sums.barrier(comm);
                rank.say("ready");
                if (rank.number() == 2) {
                    rank.await("leave");
                    comm.close();
                    rank.say("left");
                    rank.await("over");
                } else if (rank.number() == 1) {
                    rank.await("over");
                } else {
                    wait(rank, comm);
                }
            } finally {
                comm.abort();
            }
        }

        private static void wait(Rank rank, Communicator comm) {
            int count = rank.intArgument(1);
            if (rank.argument(0).equals("all-reduce")) {
                Sums.allReduce(comm, count);
                return;
            }
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4L * count * (MANY + 2), 8);
                Group.start();
                for (int i = 0; i < MANY; i++) {
                    comm.recv(data.asSlice(4L * count * i), count, DataType.INT32, 1);
                }
                comm.recv(data.asSlice(4L * count * MANY), count, DataType.INT32, 2);
                Group.end();
            }
        }
    }

    /** Rank 1 sends now and then: each receive from it is well within the limit. */
    public static final class OthersTrickle implements Scenario {
        @Override
        public void run(Rank rank) throws InterruptedException {
            Config config = Config.DEFAULT.withTimeout(Duration.ofSeconds(LIMIT_S));
            Communicator comm = rank.init(rank.number() == 0 ? config : Config.DEFAULT);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment data = arena.allocate(4L * (MANY + 1), 8);
                Sums.barrier(comm);
                rank.say("ready");
                if (rank.number() == 2) {
                    rank.await("over");
                }
                while (rank.number() == 1) {
                    comm.send(data, 1, DataType.INT32, 0);
                    Thread.sleep(200);
                }
                Group.start();
                for (int i = 0; i < MANY; i++) {
                    comm.recv(data.asSlice(4L * i), 1, DataType.INT32, 1);
                }
                comm.recv(data.asSlice(4L * MANY), 1, DataType.INT32, 2);
                Group.end();
            } finally {
                rank.post("over", "");
                comm.abort();
            }
        }
    }

    /** Ranks 0 and 1 exchange messages without end, and another thread of rank 0 needs rank 2. */
    public static final class OthersTalk implements Scenario {
        @Override
        public void run(Rank rank) throws InterruptedException {
            Communicator comm = rank.init();
            try {
                Sums.barrier(comm);
                if (rank.number() == 2) {
                    rank.say("ready");
                    rank.await("over");
                    return;
                }
                if (rank.number() == 0) {
                    Thread.ofPlatform().daemon().start(() -> talk(rank, comm));
                    try (Arena arena = Arena.ofConfined()) {
                        comm.recv(arena.allocate(8), 1, DataType.INT32, 2);
                    }
                } else {
                    talk(rank, comm);
                }
            } finally {
                comm.abort();
            }
        }

        private static void talk(Rank rank, Communicator comm) {
            int peer = 1 - rank.number();
            int count = 1 << 16;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment out = arena.allocate(4L * count, 8);
                MemorySegment in = arena.allocate(4L * count, 8);
                for (int i = 0; true; i++) {
                    Group.start();
                    comm.send(out, count, DataType.INT32, peer);
                    comm.recv(in, count, DataType.INT32, peer);
                    Group.end();
                    if (i == 100) {
                        rank.say("ready");
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("threes")
    void deathOfARankIsKnownWhereAnotherIsLate(Cluster cluster) throws InterruptedException {
        for (int count : new int[] {1, LARGE}) {
            killed(cluster.deadline(DEADLINE_S).start(OthersAreLate.class, "all-reduce", count));
        }
    }

    @ParameterizedTest
    @MethodSource("threes")
    void deathOfARankIsKnownBehindThousandsOfOperations(Cluster cluster)
            throws InterruptedException {
        killed(cluster.deadline(DEADLINE_S).start(OthersAreLate.class, "group", 1));
    }

    @ParameterizedTest
    @MethodSource("threes")
    void deathOfARankIsKnownBesideTraffic(Cluster cluster) throws InterruptedException {
        killed(cluster.deadline(DEADLINE_S).start(OthersTalk.class));
    }

    private static void killed(RunningCluster cluster) throws InterruptedException {
        try (RunningCluster running = cluster) {
            running.awaitAllSaid("ready");
            Thread.sleep(500);
            long since = System.nanoTime();
            long stolen = Host.stolenNs();
            running.kill(2);
            running.awaitEnd(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 2 is lost");
            requireWithin(DEATH_KNOWN_WITHIN_NS, since, stolen);
            running.post("over", "");
        }
    }

    @ParameterizedTest
    @MethodSource("threesThatMayLeave")
    void leavingOfARankIsKnownWhereAnotherIsLate(Cluster cluster) throws InterruptedException {
        for (List<?> needed : List.of(List.of("all-reduce", 1), List.of("group", 1))) {
            try (RunningCluster running =
                    cluster.deadline(DEADLINE_S)
                            .start(OthersAreLate.class, needed.get(0), needed.get(1))) {
                running.awaitAllSaid("ready");
                Thread.sleep(500);
                running.post("leave", "");
                running.awaitSaid(2, "left");
                long since = System.nanoTime();
                long stolen = Host.stolenNs();
                running.awaitEnd(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 2 has left");
                requireWithin(LEAVING_KNOWN_WITHIN_NS, since, stolen);
                running.post("over", "");
            }
        }
    }

    @Test
    void timeLimitHoldsBehindThousandsOfOperationsThatMove() {
        try (RunningCluster running =
                Cluster.processes(3).deadline(DEADLINE_S).start(OthersTrickle.class)) {
            running.awaitAllSaid("ready");
            long since = System.nanoTime();
            long stolen = Host.stolenNs();
            running.awaitEnd(0).assertFailed(NcclResult.TIMEOUT, "for rank 2,");
            requireWithin(LIMIT_S * 1_000_000_000L + DEATH_KNOWN_WITHIN_NS, since, stolen);
        }
    }

    private static void requireWithin(long limitNs, long sinceNs, long stolenNs) {
        long tookNs = System.nanoTime() - sinceNs - (Host.stolenNs() - stolenNs);
        assertTrue(tookNs < limitNs, "it took " + tookNs + " ns");
    }
}
