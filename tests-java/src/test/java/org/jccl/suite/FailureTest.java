package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.Config;
import org.jccl.harness.Cluster;
import org.jccl.harness.Host;
import org.jccl.harness.Outcome;
import org.jccl.harness.Rank;
import org.jccl.harness.RankResult;
import org.jccl.harness.RunningCluster;
import org.jccl.harness.Scenario;
import org.jccl.type.DataType;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Ranks that die, stop, come late, leave, or call something else. */
final class FailureTest {
    /** Twice what a ring holds. */
    private static final int LARGE = 1 << 19;

    private static final long DEATH_KNOWN_WITHIN_NS = 5_000_000_000L;
    private static final long ABORT_WITHIN_NS = 1_000_000_000L;

    static List<Cluster> fours() {
        return List.of(
                Cluster.processes(4),
                Cluster.processes(4).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.processes(4).nodes(2),
                Cluster.processes(4).nodes(2).onDevices());
    }

    /** Shared memory alone, and all that ranks on two nodes have. */
    static List<Cluster> differentFours() {
        return List.of(fours().getFirst(), fours().getLast());
    }

    static List<Cluster> otherFours() {
        return fours().subList(1, 3);
    }

    static List<Cluster> pairs() {
        return List.of(
                Cluster.threads(2),
                Cluster.threads(2).nodes(2),
                Cluster.processes(2),
                Cluster.processes(2).environment("NCCL_SHM_DISABLE", "1"),
                Cluster.processes(2).onDevices());
    }

    /** Large all-reduces without end. */
    public static final class Endless implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try (Place place = Place.of(comm)) {
                MemorySegment data = place.allocate(4L * LARGE);
                for (int i = 0; true; i++) {
                    comm.inStream(place.stream())
                            .allReduce(data, data, LARGE, DataType.INT32, RedOp.SUM);
                    place.await();
                    if (i == 1) {
                        rank.say("busy");
                    }
                }
            } finally {
                comm.abort();
            }
        }
    }

    /** One all-reduce, sleeps while the test stops a rank, another all-reduce. */
    public static final class TwoRounds implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init()) {
                Sums.allReduce(comm, 1000);
                rank.say("first");
                rank.await("go");
                Sums.allReduce(comm, LARGE);
            }
        }
    }

    /**
     * Rank 0 calls an all-reduce with a time limit; rank 1 waits for it to have ended. Its call may
     * still find what rank 0 had sent before; the one after cannot.
     */
    public static final class PeerComesTooLate implements Scenario {
        @Override
        public void run(Rank rank) {
            Config config = Config.DEFAULT;
            if (rank.argument(0).equals("config")) {
                config = config.withTimeout(Duration.ofSeconds(2));
            }
            Communicator comm = rank.init(config);
            try {
                Sums.allReduce(comm, 10);
                Sums.allReduce(comm, 10);
                if (rank.number() == 1) {
                    rank.await("rank 0 has ended");
                }
                Sums.allReduce(comm, rank.intArgument(1));
                Sums.barrier(comm);
            } finally {
                rank.post("rank " + rank.number() + " has ended", "");
                comm.abort();
            }
        }
    }

    /**
     * Rank 0 calls an all-reduce, rank 1 a broadcast. As its root rank 1 need not wait for anybody
     * there, but it must in the call after.
     */
    public static final class DifferentCalls implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try (Place place = Place.of(comm)) {
                Sums.allReduce(comm, 10);
                int count = rank.intArgument(0);
                MemorySegment data = place.allocate(8L * count);
                if (rank.number() == 0) {
                    comm.inStream(place.stream())
                            .allReduce(data, data, count, DataType.FLOAT32, RedOp.MAX);
                } else {
                    comm.inStream(place.stream()).broadcast(data, data, count, DataType.INT64, 1);
                    Sums.barrier(comm);
                }
                place.await();
            } finally {
                comm.abort();
            }
        }
    }

    /** Same operation, other count. */
    public static final class DifferentCounts implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try {
                Sums.allReduce(comm, rank.intArgument(0) + rank.number());
            } finally {
                comm.abort();
            }
        }
    }

    /** Rank 0 is in an all-reduce that rank 1 never joins; another thread aborts. */
    public static final class AbortedFromOutside implements Scenario {
        @Override
        public void run(Rank rank) throws InterruptedException {
            Communicator comm = rank.init();
            Sums.barrier(comm);
            if (rank.number() == 1) {
                rank.await("rank 0 is free");
                comm.abort();
                return;
            }
            long[] tookNs = new long[1];
            Thread aborter =
                    Thread.ofPlatform()
                            .start(
                                    () -> {
                                        rank.await("rank 0 calls");
                                        pause();
                                        long since = System.nanoTime() + Host.stolenNs();
                                        comm.abort();
                                        tookNs[0] = System.nanoTime() - since - Host.stolenNs();
                                    });
            rank.post("rank 0 calls", "");
            try {
                Sums.allReduce(comm, rank.intArgument(0));
                rank.say("returned");
            } catch (NcclException e) {
                rank.say("ended with " + e.result());
            }
            aborter.join();
            rank.post("rank 0 is free", "");
            Sums.require(tookNs[0] < ABORT_WITHIN_NS, "abort took " + tookNs[0] + " ns");
        }

        private static void pause() {
            try {
                Thread.sleep(100);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Rank 1 destroys its communicator while rank 0 calls once more. */
    public static final class PeerLeaves implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            if (rank.number() == 1) {
                Sums.allReduce(comm, 100);
                comm.abort();
                rank.await("rank 0 has ended");
                return;
            }
            try {
                Sums.allReduce(comm, 100);
                Sums.allReduce(comm, rank.intArgument(0));
            } finally {
                rank.post("rank 0 has ended", "");
                comm.abort();
            }
        }
    }

    /** Rank 0 aborts a call that rank 1 has not joined, and its process ends in good order. */
    public static final class AbortsAndExits implements Scenario {
        @Override
        public void run(Rank rank) throws InterruptedException {
            Communicator comm = rank.init();
            try {
                Sums.barrier(comm);
                if (rank.number() == 1) {
                    rank.await("rank 0 is gone");
                } else {
                    Thread aborter = Thread.ofPlatform().start(() -> AbortsAndExits.abort(comm));
                    assertThrows(
                            NcclException.class, () -> Sums.allReduce(comm, rank.intArgument(0)));
                    aborter.join();
                    System.exit(0);
                }
                Sums.allReduce(comm, rank.intArgument(0));
                Sums.barrier(comm);
            } finally {
                comm.abort();
            }
        }

        private static void abort(Communicator comm) {
            AbortedFromOutside.pause();
            comm.abort();
        }
    }

    @ParameterizedTest
    @MethodSource("fours")
    void survivorsNameTheRankThatWasKilled(Cluster cluster) throws IOException {
        Set<String> before = traces();
        try (RunningCluster running = cluster.start(Endless.class)) {
            running.awaitAllSaid("busy");
            running.kill(2);
            long since = System.nanoTime();
            long stolen = Host.stolenNs();
            for (int rank : new int[] {0, 1, 3}) {
                running.awaitEnd(rank).assertFailed(NcclResult.REMOTE_ERROR, "rank 2");
            }
            long tookNs = System.nanoTime() - since - (Host.stolenNs() - stolen);
            assertTrue(tookNs < DEATH_KNOWN_WITHIN_NS, "it took " + tookNs + " ns");
            assertEquals(RankResult.End.DIED, running.awaitEnd(2).end());
        }
        assertEquals(before, traces());
    }

    @ParameterizedTest
    @MethodSource("differentFours")
    void nothingIsLeftWhenAllAreKilledAndANewJobStarts(Cluster cluster) throws IOException {
        killAll(cluster);
    }

    @Tag("stress")
    @ParameterizedTest
    @MethodSource("otherFours")
    void nothingIsLeftOfOthersEither(Cluster cluster) throws IOException {
        killAll(cluster);
    }

    private static void killAll(Cluster cluster) throws IOException {
        Set<String> before = traces();
        try (RunningCluster running = cluster.start(Endless.class)) {
            running.awaitAllSaid("busy");
            running.killAll();
            for (int rank = 0; rank < 4; rank++) {
                assertEquals(RankResult.End.DIED, running.awaitEnd(rank).end());
            }
        }
        assertEquals(before, traces());
        cluster.run(InitTest.WholeLife.class).assertAllSucceeded();
        assertEquals(before, traces());
    }

    @ParameterizedTest
    @MethodSource("differentFours")
    void stoppedRankIsLateNotDead(Cluster cluster) throws InterruptedException {
        stop(cluster);
    }

    @Tag("stress")
    @ParameterizedTest
    @MethodSource("otherFours")
    void stoppedRankOfOthersIsLateNotDead(Cluster cluster) throws InterruptedException {
        stop(cluster);
    }

    private static void stop(Cluster cluster) throws InterruptedException {
        try (RunningCluster running = cluster.start(TwoRounds.class)) {
            running.awaitAllSaid("first");
            running.stop(1);
            running.post("go", "");
            Thread.sleep(2000);
            running.cont(1);
            running.await().assertAllSucceeded();
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void timeLimitNamesTheLateRankAndTheCall(Cluster cluster) {
        for (int count : new int[] {1, LARGE}) {
            Outcome outcome = cluster.run(PeerComesTooLate.class, "config", count);
            outcome.rank(0).assertFailed(NcclResult.TIMEOUT, "AllReduce", "rank 1", "2");
            assertEquals(NcclResult.REMOTE_ERROR, outcome.rank(1).result(), outcome::toString);
        }
    }

    @Test
    void timeLimitComesFromTheEnvironmentToo() {
        Cluster cluster = Cluster.processes(2).environment("JCCL_TIMEOUT", "2");
        Outcome outcome = cluster.run(PeerComesTooLate.class, "environment", 10);
        outcome.rank(0).assertFailed(NcclResult.TIMEOUT, "AllReduce", "rank 1");
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void differentCallsAreNamedOnBothSides(Cluster cluster) {
        for (int count : new int[] {1, 1 << 20}) {
            Outcome outcome = cluster.run(DifferentCalls.class, count);
            for (RankResult result : outcome.ranks()) {
                result.assertFailed(NcclResult.INVALID_USAGE, "AllReduce", "Broadcast");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void differentCountsAreNamedOnBothSides(Cluster cluster) {
        for (int count : new int[] {1, 1 << 20}) {
            Outcome outcome = cluster.run(DifferentCounts.class, count);
            for (RankResult result : outcome.ranks()) {
                result.assertFailed(NcclResult.INVALID_USAGE, "" + count, "" + (count + 1));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void abortFreesACallWhosePeerNeverComes(Cluster cluster) {
        for (int count : new int[] {1, LARGE}) {
            Outcome outcome = cluster.run(AbortedFromOutside.class, count).assertAllSucceeded();
            assertEquals(1, outcome.rank(0).said().size());
            assertTrue(
                    outcome.rank(0).said().getFirst().startsWith("ended with"), outcome::toString);
        }
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void rankThatAbortedIsNamed(Cluster cluster) {
        for (int count : new int[] {1, LARGE}) {
            Outcome outcome = cluster.run(PeerLeaves.class, count);
            outcome.rank(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 1 aborted");
        }
    }

    /** The last words of a process that has ended long ago are read before it is found gone. */
    @Test
    void reasonOutlivesTheProcessOverTcp() throws InterruptedException {
        Cluster cluster = Cluster.processes(2).environment("NCCL_SHM_DISABLE", "1");
        for (int count : new int[] {1, 1 << 16}) {
            try (RunningCluster running = cluster.start(AbortsAndExits.class, count)) {
                assertEquals(RankResult.End.DIED, running.awaitEnd(0).end());
                running.post("rank 0 is gone", "");
                running.awaitEnd(1).assertFailed(NcclResult.REMOTE_ERROR, "rank 0 aborted");
            }
        }
    }

    /** Rank 0 sends to rank 1, whose process has been killed, less than a FIFO takes. */
    public static final class SendsToNobody implements Scenario {
        @Override
        public void run(Rank rank) {
            Communicator comm = rank.init();
            try (Arena arena = Arena.ofConfined()) {
                Sums.barrier(comm);
                rank.say("ready");
                rank.await("rank 1 is gone");
                MemorySegment data = arena.allocate(4, 8);
                for (int i = 0; i < 3; i++) {
                    comm.send(data, 1, DataType.INT32, 1);
                }
            } finally {
                comm.abort();
            }
        }
    }

    @Test
    void sendThatTheSystemRefusesIsNoSuccess() {
        Cluster cluster = Cluster.processes(2).environment("NCCL_SHM_DISABLE", "1");
        try (RunningCluster running = cluster.start(SendsToNobody.class)) {
            running.awaitAllSaid("ready");
            running.kill(1);
            assertEquals(RankResult.End.DIED, running.awaitEnd(1).end());
            running.post("rank 1 is gone", "");
            running.awaitEnd(0).assertFailed(NcclResult.REMOTE_ERROR, "rank 1 is lost");
        }
    }

    /** Files of JCCL that are left in the directories of temporary files. */
    private static Set<String> traces() throws IOException {
        Set<String> names = new TreeSet<>();
        for (String directory : List.of("/dev/shm", "/tmp")) {
            try (Stream<Path> files = Files.list(Path.of(directory))) {
                files.map(Path::toString)
                        .filter(name -> name.contains("jccl") || name.contains("nccl"))
                        .filter(name -> !name.contains("jccl-cluster"))
                        .filter(name -> !name.contains("jccl-test"))
                        .forEach(names::add);
            }
        }
        return names;
    }
}
