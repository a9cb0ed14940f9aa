package org.jccl.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.param.DeclaredVariables;
import org.jccl.param.Param;
import org.jccl.platform.ProcessIdentity;
import org.jccl.platform.Threads;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

class LogTest {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();

    @AfterEach
    void restore() {
        Log.output = new Log.Output(settings(Map.of()), LogTap::print);
        Log.refresh();
    }

    @Test
    void isSilentByDefaultButKeepsTheLastError() {
        use(Map.of());
        Log.warn("rank 3 is gone");
        Log.attn("hm");
        Log.info(Subsystem.INIT, "hello");
        Log.version(0, "NCCL version");
        assertEquals("", written());
        assertEquals("rank 3 is gone", LastError.get());
    }

    @Test
    void writesInfoOfTheChosenSubsystems() {
        use(Map.of("NCCL_DEBUG", "info"));
        Log.info(Subsystem.TUNING, "not chosen");
        assertEquals("", written());
        Log.info(Subsystem.INIT, "100%");
        assertEquals(prefix() + " [-1] NCCL INFO 100%\n", written());
        Log.info(Subsystem.INIT, "%s ranks", 4);
        assertTrue(written().endsWith(" [-1] NCCL INFO 4 ranks\n"), written());
        assertFalse(subsystems("NET").logs(Subsystem.TUNING));
        assertFalse(subsystems("^INIT,ENV").logs(Subsystem.INIT));
        assertTrue(subsystems("^INIT,ENV").logs(Subsystem.TUNING));
        assertTrue(subsystems("^NET").logs(Subsystem.DESTROY));
        assertTrue(subsystems("ALL").logs(Subsystem.DESTROY));
    }

    @Test
    void writesWarningsWithTimeAndPlace() {
        use(Map.of("NCCL_DEBUG", "WARN"));
        Log.warn("rank 3 is gone");
        assertTrue(
                written()
                        .matches(
                                "\n\\[\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d] \\Q"
                                        + prefix()
                                        + "\\E \\[-1] LogTest.java:\\d+ "
                                        + "\\(writesWarningsWithTimeAndPlace\\) "
                                        + "NCCL WARN rank 3 is gone\n"),
                written());
    }

    @Test
    void attentionIsNoError() {
        use(Map.of("NCCL_DEBUG", "ATTN", "NCCL_DEBUG_TIMESTAMP_LEVELS", "NONE"));
        Log.warn("the error");
        Log.attn("a stranger at the door");
        assertTrue(written().endsWith("NCCL ATTN a stranger at the door\n"), written());
        assertTrue(written().startsWith("\n" + prefix() + " [-1] LogTest.java:"), written());
        assertEquals("the error", LastError.get());
    }

    @Test
    void addsLevelsToTheLevel() {
        LogSettings settings = settings(Map.of("NCCL_DEBUG_LEVELS", "INFO,unknown"));
        assertTrue(settings.logs(Level.INFO));
        assertFalse(settings.logs(Level.WARN));
        assertFalse(settings(Map.of("NCCL_DEBUG_LEVELS", "^INFO")).logs(Level.INFO));
        assertTrue(settings(Map.of("NCCL_DEBUG_LEVELS", "^INFO")).logs(Level.TRACE));
        assertFalse(settings(Map.of("NCCL_DEBUG", "ATTN")).logs(Level.INFO));
    }

    @Test
    void saysTheVersionOnceUnlessEveryRankLogs() {
        use(Map.of("NCCL_DEBUG", "VERSION"));
        Log.version(1, "NCCL version 2.32.3");
        assertEquals("", written());
        Log.version(0, "NCCL version 2.32.3");
        assertEquals("NCCL version 2.32.3\n", written());
        use(Map.of("NCCL_DEBUG", "INFO"));
        Log.version(1, "NCCL version 2.32.3");
        assertEquals("NCCL version 2.32.3\n".repeat(2), written());
    }

    @Test
    void resolvesTheSignsOfTheFileName() {
        Map<String, String> variables =
                Map.of("NCCL_DEBUG", "INFO", "NCCL_DEBUG_FILE", "%h-%p%%%x%");
        assertEquals("node-42%%x%", settings(variables).file());
        assertEquals(
                null, settings(Map.of("NCCL_DEBUG", "VERSION", "NCCL_DEBUG_FILE", "file")).file());
    }

    @Test
    void cutsALongErrorBetweenCharacters() {
        LastError.set("ä".repeat(600));
        assertEquals("ä".repeat(511), LastError.get());
        LastError.set("a" + "ä".repeat(600));
        assertEquals("a" + "ä".repeat(511), LastError.get());
        LastError.set("short");
        assertEquals("short", LastError.get());
    }

    @Test
    void readsOnlyDeclaredVariables() {
        LogSettings.read(
                name -> {
                    assertTrue(
                            DeclaredVariables.all().stream()
                                    .map(Param::name)
                                    .anyMatch(name::equals),
                            name);
                    return null;
                },
                "node",
                42);
    }

    private static LogSettings subsystems(String names) {
        return settings(Map.of("NCCL_DEBUG", "INFO", "NCCL_DEBUG_SUBSYS", names));
    }

    private void use(Map<String, String> variables) {
        Log.output = new Log.Output(settings(variables), written::writeBytes);
    }

    private static LogSettings settings(Map<String, String> variables) {
        return LogSettings.read(variables::get, "node", 42);
    }

    private String written() {
        return written.toString(StandardCharsets.UTF_8);
    }

    private static String prefix() {
        String host = ProcessIdentity.current().hostName();
        int dot = host.indexOf('.');
        String name = dot > 0 ? host.substring(0, dot) : host;
        return name + ":" + ProcessIdentity.current().pid() + ":" + Threads.id();
    }
}
