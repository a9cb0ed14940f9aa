package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Each test runs {@link WarmupProbe} in a process of its own and compares what it prints. */
final class WarmupTest {
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

    private static String probe(List<String> options, @Nullable String noVector)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(WarmupProbe.class.getName());
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().remove("JCCL_NO_VECTOR");
        if (noVector != null) {
            builder.environment().put("JCCL_NO_VECTOR", noVector);
        }
        Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        byte[] output = process.getInputStream().readAllBytes();
        assertEquals(0, process.waitFor());
        return new String(output, StandardCharsets.UTF_8).strip();
    }
}
