package org.jccl.param;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.log.LogTap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class ParamTest {
    private static final String SOURCE = "../java-core/src/main/java/org/jccl/param/Params.java";

    /** The names that other launchers have given. */
    private static final Set<String> LAUNCHERS =
            Set.of(
                    "RANK",
                    "WORLD_SIZE",
                    "LOCAL_RANK",
                    "MASTER_ADDR",
                    "MASTER_PORT",
                    "TORCHELASTIC_USE_AGENT_STORE",
                    "TORCHELASTIC_RESTART_COUNT");

    @Test
    void everyVariableHasOneNameADefaultAndASentence() throws Exception {
        Set<String> names = new HashSet<>();
        for (Param<?> each : DeclaredVariables.all()) {
            boolean ours = each.name().matches("(NCCL|JCCL)_[A-Z0-9_]+");
            assertTrue(ours || LAUNCHERS.contains(each.name()), each.name());
            assertTrue(names.add(each.name()), each.name() + " is there twice");
            assertFalse(each.defaultText().isEmpty(), each.name());
        }
        assertTrue(names.contains("NCCL_DEBUG"), names::toString);
        Path here = Path.of(System.getProperty("basedir", "")).toAbsolutePath();
        String source = Files.readString(here.resolve(SOURCE));
        Matcher told = Pattern.compile("\\.\\s+\\*/\\s+public static final").matcher(source);
        assertEquals(names.size(), told.results().count(), "sentences before variables");
    }

    @Test
    void readsSwitches() {
        Param<Boolean> off = Param.flag("JCCL_TEST", false);
        assertFalse(off.get());
        assertTrue(off.get("1"));
        assertTrue(off.get(" 0x10 "));
        assertFalse(off.get("0"));
        Param<@Nullable Boolean> choice = Param.choice("JCCL_TEST");
        assertNull(choice.get());
        assertEquals(false, choice.get("0"));
        assertEquals(true, choice.get("1"));
    }

    @Test
    void readsWords() {
        Param<String> order = Param.word("JCCL_TEST", List.of("node", "rank"));
        assertEquals("node", order.get());
        assertEquals("rank", order.get(" rank "));
        assertEquals("node", order.defaultText());
    }

    @Test
    void readsSecondsAsMilliseconds() {
        Param<Long> time = Param.seconds("JCCL_TEST", 120);
        assertEquals(120_000, time.get());
        assertEquals(1_500, time.get("1.5"));
        assertEquals(1, time.get("1e-9"));
        assertEquals(0, time.get("0"));
        assertEquals("none", Param.seconds("JCCL_TEST", 0).defaultText());
    }

    /** In a process that logs what is wrong with its variables. */
    public static final class InvalidValues implements Scenario {
        @Override
        public void run(Rank rank) {
            List<String> lines = new ArrayList<>();
            try (LogTap _ = new LogTap(lines::add)) {
                Param<Boolean> first = Param.flag("JCCL_FIRST", false);
                assertFalse(first.get("nine"));
                assertTrue(first.get("9"));
                Param<Long> time = Param.seconds("JCCL_TIME", 10);
                for (String value : List.of("-1", "ten", "1e10", "NaN")) {
                    assertEquals(10_000, time.get(value));
                }
                assertTrue(Param.flag("JCCL_FLAG", true).get("yes"));
                assertNull(Param.choice("JCCL_CHOICE").get("maybe"));
                assertEquals("a", Param.word("JCCL_WORD", List.of("a", "b")).get("c"));
            }
            assertEquals(8, lines.size(), lines::toString);
            says("JCCL_FIRST value 'nine' is not valid, leaving it set at 0", lines.getFirst());
            says("JCCL_FLAG value 'yes' is not valid, leaving it set at 1", lines.get(5));
        }

        private static void says(String sentence, String line) {
            assertTrue(line.endsWith(" NCCL INFO " + sentence + "\n"), line);
        }
    }

    @Test
    void reportsInvalidValuesAndKeepsTheDefault() {
        Cluster.processes(1)
                .once()
                .environment("NCCL_DEBUG", "INFO")
                .environment("NCCL_DEBUG_SUBSYS", "ENV")
                .run(InvalidValues.class)
                .assertAllSucceeded();
    }
}
