package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.RunningCluster;
import org.jccl.harness.Scenario;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What a rank that waits says of the one that it waits for. */
final class LateWarningTest {
    /** Rank 0 waits in an all-reduce until the test lets rank 1 come. */
    public static final class ComesLate implements Scenario {
        @Override
        public void run(Rank rank) {
            try (Communicator comm = rank.init()) {
                Sums.barrier(comm);
                rank.say("ready");
                if (rank.number() == 1) {
                    rank.await("go");
                }
                Sums.allReduce(comm, 10);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("processPairs")
    void lateRankIsNamedAgainAndAgain(Cluster cluster, @TempDir Path directory)
            throws IOException, InterruptedException {
        Path log = directory.resolve("log");
        try (RunningCluster running = logging(cluster, log, "0.2").start(ComesLate.class)) {
            running.awaitAllSaid("ready");
            for (int looks = 0; lateWarnings(log).size() < 3; looks++) {
                assertTrue(looks < 15_000, "rank 1 was not named three times in five minutes");
                Thread.sleep(20);
            }
            running.post("go", "");
            running.await().assertAllSucceeded();
        }
        for (String line : lateWarnings(log)) {
            assertTrue(line.contains("AllReduce") && line.contains("for rank 1,"), line);
        }
    }

    @ParameterizedTest
    @MethodSource("processPairs")
    void nobodyIsNamedWhereThatIsSwitchedOff(Cluster cluster, @TempDir Path directory)
            throws IOException, InterruptedException {
        Path log = directory.resolve("log");
        try (RunningCluster running = logging(cluster, log, "0").start(ComesLate.class)) {
            running.awaitAllSaid("ready");
            Thread.sleep(500);
            running.post("go", "");
            running.await().assertAllSucceeded();
        }
        assertEquals(List.of(), lateWarnings(log));
    }

    static List<Cluster> processPairs() {
        return List.of(Cluster.processes(2), Cluster.processes(2).nodes(2));
    }

    private static Cluster logging(Cluster cluster, Path log, String lateWarn) {
        return cluster.once()
                .environment(0, "NCCL_DEBUG", "WARN")
                .environment(0, "NCCL_DEBUG_FILE", log.toString())
                .environment("JCCL_LATE_WARN", lateWarn);
    }

    /** The warnings of operations; a slow start may make the init warn, too. */
    private static List<String> lateWarnings(Path log) throws IOException {
        if (!Files.exists(log)) {
            return List.of();
        }
        try (Stream<String> lines = Files.lines(log)) {
            return lines.filter(line -> line.contains("has waited"))
                    .filter(line -> !line.contains("ncclCommInitRank"))
                    .toList();
        }
    }
}
