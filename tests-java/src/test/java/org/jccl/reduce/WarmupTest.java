package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Each test runs {@link WarmupProbe} in a process of its own and compares what it prints. */
final class WarmupTest {
    private static final String SEPARATOR = File.pathSeparator;
    private static final String MODULE = "--add-modules=jdk.incubator.vector";

    @Test
    void switchesFromStagedToVectorAndThenAllocatesNothing() throws Exception {
        assertEquals("staged vector wrong=0 allocated=0 ended=true", probe(List.of(MODULE), null));
    }

    @Test
    void staysStagedWithoutTheModuleOfTheVectorApi() throws Exception {
        assertEquals("staged staged wrong=0 allocated=0 ended=true", probe(List.of(), null));
    }

    @Test
    void staysStagedWhereItIsToldTo() throws Exception {
        assertEquals("staged staged wrong=0 allocated=0 ended=true", probe(List.of(MODULE), "1"));
    }

    @Test
    void staysStagedWhereNothingWouldCompileTheVectors() throws Exception {
        List<String> options = List.of(MODULE, "-XX:TieredStopAtLevel=1");
        assertEquals("staged staged wrong=0 allocated=0 ended=true", probe(options, null));
    }

    /** A class that is no class is an Error for the thread whose first call needs it. */
    @Test
    void staysStagedWhereWarmingFails(@TempDir Path classes) throws Exception {
        Path broken = classes.resolve(WarmupRun.class.getName().replace('.', '/') + ".class");
        Files.createDirectories(broken.getParent());
        Files.writeString(broken, "planted");
        String said = run(List.of(MODULE), Map.of("NCCL_DEBUG", "WARN"), classes + SEPARATOR);
        String error = ClassFormatError.class.getName();
        String line = "NCCL WARN jccl-warm gives up, kernels stay slower: " + error;
        assertEquals(2, said.split(line, -1).length, said);
        String last = said.lines().toList().getLast();
        assertEquals("staged staged wrong=0 allocated=0 ended=true", last);
    }

    private static String probe(List<String> options, @Nullable String noVector)
            throws IOException, InterruptedException {
        Map<String, String> variables =
                noVector == null ? Map.of() : Map.of("JCCL_NO_VECTOR", noVector);
        return run(options, variables, "");
    }

    /** The output of the probe, if these classes hide others. */
    private static String run(
            List<String> options, Map<String, String> variables, String classesBefore)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("-cp");
        command.add(classesBefore + System.getProperty("java.class.path"));
        command.add(WarmupProbe.class.getName());
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().remove("JCCL_NO_VECTOR");
        builder.environment().putAll(variables);
        Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        byte[] output = process.getInputStream().readAllBytes();
        assertEquals(0, process.waitFor());
        return new String(output, StandardCharsets.UTF_8).strip();
    }
}
