package org.jccl.param;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.param.Param.Choice;
import org.jccl.param.Param.Flag;
import org.jccl.param.Param.Seconds;
import org.jccl.param.Param.Whole;
import org.jccl.param.Param.Word;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

class ParamTest {
    @Test
    void everyVariableHasOneNameADefaultAndASentence() {
        Set<String> names = new HashSet<>();
        for (Param each : Params.ALL) {
            assertTrue(each.name().matches("(NCCL|JCCL)_[A-Z0-9_]+"), each.name());
            assertTrue(names.add(each.name()), each.name() + " is there twice");
            assertFalse(each.defaultText().isEmpty(), each.name());
            assertTrue(each.sentence().endsWith("."), each.sentence());
        }
    }

    @Test
    void everyDeclaredVariableIsListed() throws Exception {
        for (var field : Params.class.getFields()) {
            if (Param.class.isAssignableFrom(field.getType())) {
                assertTrue(Params.ALL.contains((Param) field.get(null)), field.getName());
            }
        }
    }

    @Test
    void readsSwitches() {
        Flag off = new Flag("JCCL_TEST", false, "A test.");
        assertFalse(off.get());
        assertTrue(off.get("1"));
        assertTrue(off.get(" 0x10 "));
        assertFalse(off.get("0"));
        Choice choice = new Choice("JCCL_TEST", "A test.");
        assertNull(choice.get());
        assertEquals(false, choice.get("0"));
        assertEquals(true, choice.get("1"));
    }

    @Test
    void readsWords() {
        Word order = new Word("JCCL_TEST", List.of("node", "rank"), "A test.");
        assertEquals("node", order.get());
        assertEquals("rank", order.get(" rank "));
        assertEquals("node", order.defaultText());
    }

    @Test
    void readsSecondsAsMilliseconds() {
        Seconds time = new Seconds("JCCL_TEST", 120, "A test.");
        assertEquals(120_000, time.getMs());
        assertEquals(1_500, time.getMs("1.5"));
        assertEquals(1, time.getMs("1e-9"));
        assertEquals(0, time.getMs("0"));
        assertEquals("none", new Seconds("JCCL_TEST", 0, "A test.").defaultText());
    }

    /** In a process where nothing has asked for reports yet. */
    public static final class InvalidValues implements Scenario {
        @Override
        public void run(Rank rank) {
            Whole before = new Whole("JCCL_BEFORE", 3, 1, 8, "A test.");
            assertEquals(3, before.get("nine"));
            List<String> reports = new ArrayList<>();
            Param.reportInvalidTo(reports::add);
            assertEquals(3, before.get("9"));
            assertEquals(8, before.get("8"));
            Seconds time = new Seconds("JCCL_TIME", 10, "A test.");
            for (String value : List.of("-1", "ten", "1e10", "NaN")) {
                assertEquals(10_000, time.getMs(value));
            }
            assertTrue(new Flag("JCCL_FLAG", true, "A test.").get("yes"));
            assertNull(new Choice("JCCL_CHOICE", "A test.").get("maybe"));
            assertEquals(
                    "JCCL_BEFORE value 'nine' is not valid, leaving it set at 3",
                    reports.getFirst());
            assertEquals("a", new Word("JCCL_WORD", List.of("a", "b"), "A test.").get("c"));
            assertEquals(9, reports.size());
            assertEquals("JCCL_FLAG value 'yes' is not valid, leaving it set at 1", reports.get(6));
        }
    }

    @Test
    void reportsInvalidValuesAndKeepsTheDefault() {
        Cluster.processes(1).once().run(InvalidValues.class).assertAllSucceeded();
    }
}
