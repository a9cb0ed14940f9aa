package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import org.jccl.Communicator;
import org.jccl.Statistics;
import org.jccl.harness.Cluster;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The counters as JSON, which docs/json.md describes. */
final class StatisticsJsonTest {
    @Test
    void gsonReadsWhatItHasWritten() {
        Cluster.threads(2)
                .nodes(2)
                .runHere(
                        rank -> {
                            try (Communicator comm = rank.init()) {
                                Sums.allReduce(comm, 100_000);
                                check(comm.stats());
                            }
                        })
                .assertAllSucceeded();
    }

    private static void check(Statistics statistics) {
        String text = new Gson().toJson(statistics);
        assertEquals(statistics, new Gson().fromJson(text, Statistics.class));
        JsonObject object = JsonParser.parseString(text).getAsJsonObject();
        assertEquals(1, object.getAsJsonObject("calls").get("ALL_REDUCE").getAsLong());
        assertTrue(object.get("netBytes").getAsLong() > 0, text);
        Set<String> operations =
                Arrays.stream(Operation.values()).map(Operation::name).collect(Collectors.toSet());
        assertEquals(operations, object.getAsJsonObject("payloadBytes").keySet());
        assertEquals(documented(), new TreeSet<>(object.keySet()));
    }

    /** The fields in the chapter of the documentation. */
    private static Set<String> documented() {
        Path here = Path.of(System.getProperty("basedir", "")).toAbsolutePath();
        try {
            String page = Files.readString(here.resolve("../docs/json.md"));
            String chapter = page.split("\n## ")[1];
            return chapter.lines()
                    .filter(line -> line.startsWith("| `"))
                    .map(line -> line.split("`")[1])
                    .collect(Collectors.toCollection(TreeSet::new));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
