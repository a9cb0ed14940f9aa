package org.jccl.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** The harness itself: what it promises to every other test. */
final class ClusterTest {
    /** Says number, count, first argument and a variable. */
    public static final class Introduction implements Scenario {
        @Override
        public void run(Rank rank) {
            String variable = System.getenv("NCCL_HOSTID");
            rank.say(rank.number() + "/" + rank.nRanks() + " " + rank.argument(0) + " " + variable);
        }
    }

    /** Rank 1 fails with an NcclException, rank 0 returns. */
    public static final class OneFails implements Scenario {
        @Override
        public void run(Rank rank) {
            if (rank.number() == 1) {
                throw ErrorKind.LOST.says("rank 7 died");
            }
        }
    }

    /** Rank 0 posts what the others await. */
    public static final class PassesANote implements Scenario {
        @Override
        public void run(Rank rank) {
            if (rank.number() == 0) {
                rank.post("note", "from rank 0");
            }
            rank.say(rank.await("note"));
        }
    }

    /** Waits for ever after saying so. */
    public static final class Waits implements Scenario {
        @Override
        public void run(Rank rank) throws InterruptedException {
            rank.say("waiting");
            new CountDownLatch(1).await();
        }
    }

    /** Waits for a note after saying so. */
    public static final class WaitsForNote implements Scenario {
        @Override
        public void run(Rank rank) {
            rank.say("waiting");
            rank.say(rank.await("go"));
        }
    }

    /** Says which process it is. */
    public static final class SaysPid implements Scenario {
        @Override
        public void run(Rank rank) {
            rank.say("" + ProcessHandle.current().pid());
        }
    }

    /** Says the names of the network interfaces it sees. */
    public static final class Interfaces implements Scenario {
        @Override
        public void run(Rank rank) throws Exception {
            rank.say(
                    java.net.NetworkInterface.networkInterfaces()
                            .map(java.net.NetworkInterface::getName)
                            .sorted()
                            .toList()
                            .toString());
        }
    }

    @Test
    void threadsAndProcessesSeeTheSameCluster() {
        for (Cluster cluster : List.of(Cluster.threads(3), Cluster.processes(3))) {
            Outcome outcome = cluster.run(Introduction.class, "hello").assertAllSucceeded();
            for (int rank = 0; rank < 3; rank++) {
                assertEquals(List.of(rank + "/3 hello null"), outcome.rank(rank).said());
            }
        }
    }

    @Test
    void simulatedNodesAreConsecutiveRanks() {
        Cluster cluster = Cluster.processes(4).ranksPerProcess(2).nodes(2);
        Outcome outcome = cluster.run(Introduction.class, "x").assertAllSucceeded();
        assertEquals(List.of("1/4 x node0"), outcome.rank(1).said());
        assertEquals(List.of("2/4 x node1"), outcome.rank(2).said());
    }

    @Test
    void variablesOfARankReachItsProcess() {
        Cluster cluster = Cluster.processes(2).environment(1, "NCCL_HOSTID", "elsewhere");
        Outcome outcome = cluster.run(Introduction.class, "x").assertAllSucceeded();
        assertEquals(List.of("0/2 x null"), outcome.rank(0).said());
        assertEquals(List.of("1/2 x elsewhere"), outcome.rank(1).said());
    }

    @Test
    void codesAndMessagesOfFailuresArrive() {
        for (Cluster cluster : List.of(Cluster.threads(2), Cluster.processes(2))) {
            Outcome outcome = cluster.run(OneFails.class);
            assertEquals(RankResult.End.SUCCEEDED, outcome.rank(0).end());
            outcome.rank(1).assertFailed(NcclResult.REMOTE_ERROR, "rank 7");
            assertThrows(AssertionError.class, outcome::assertAllSucceeded);
        }
    }

    @Test
    void notesReachEveryRank() {
        for (Cluster cluster : List.of(Cluster.threads(3), Cluster.processes(3))) {
            Outcome outcome = cluster.run(PassesANote.class).assertAllSucceeded();
            assertEquals(List.of("from rank 0"), outcome.assertAllSaidTheSame());
        }
    }

    @Test
    void lateRanksAreShownWithTheirStacksAndLeaveNoProcess() {
        for (Cluster cluster : List.of(Cluster.threads(2), Cluster.processes(2))) {
            try (RunningCluster running = cluster.start(Waits.class)) {
                running.awaitAllSaid("waiting");
                running.deadlineIn(1);
                AssertionError late = assertThrows(AssertionError.class, running::await);
                String text = String.valueOf(late.getMessage());
                assertTrue(text.contains("rank 1 has not ended"), text);
                assertTrue(text.contains("ClusterTest$Waits.run"), text);
            }
        }
    }

    @Test
    void processesServeTheNextClusterWithTheSameEnvironmentOnly() {
        Cluster cluster = Cluster.processes(1).environment("JCCL_TEST_POOL", "a");
        List<String> pid = cluster.run(SaysPid.class).rank(0).said();
        assertEquals(pid, cluster.run(SaysPid.class).rank(0).said());
        assertNotEquals(pid, cluster.once().run(SaysPid.class).rank(0).said());
        Cluster other = Cluster.processes(1).environment("JCCL_TEST_POOL", "b");
        assertNotEquals(pid, other.run(SaysPid.class).rank(0).said());
        try (RunningCluster running = cluster.start(SaysPid.class)) {
            running.kill(0);
        }
        assertNotEquals(pid, cluster.run(SaysPid.class).rank(0).said());
    }

    @Test
    void killedRanksAreReportedAndGone() {
        try (RunningCluster running = Cluster.processes(2).start(WaitsForNote.class)) {
            running.awaitAllSaid("waiting");
            long pid = running.pid(1);
            running.kill(1);
            assertEquals(RankResult.End.DIED, running.awaitEnd(1).end());
            assertFalse(Files.exists(Path.of("/proc/" + pid)));
            running.post("go", "on");
            assertEquals(List.of("waiting", "on"), running.awaitEnd(0).said());
        }
    }

    @Test
    void stoppedRanksGoOnWhenTheyAreLet() throws java.io.IOException {
        try (RunningCluster running = Cluster.processes(1).start(WaitsForNote.class)) {
            running.awaitAllSaid("waiting");
            running.stop(0);
            String status = Files.readString(Path.of("/proc/" + running.pid(0) + "/status"));
            assertTrue(status.contains("T (stopped)"), status);
            running.post("go", "on");
            running.cont(0);
            running.await().assertAllSucceeded();
        }
    }

    @Test
    void namespacesHaveInterfacesOfTheirOwn() {
        Outcome outcome = Cluster.namespaces(2).run(Interfaces.class).assertAllSucceeded();
        assertEquals(List.of("[lo, wire0]"), outcome.rank(0).said());
        assertEquals(List.of("[lo, wire1]"), outcome.rank(1).said());
    }
}
