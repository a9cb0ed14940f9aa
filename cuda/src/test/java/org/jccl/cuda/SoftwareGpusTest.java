package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * All that the host does for GPUs, by JCuda, on machines that have none: {@code driver.cpp} stands
 * for NVIDIA's driver.
 */
final class SoftwareGpusTest {
    private static final int DEADLINE_S = 120;

    @TempDir private static Path folder;

    /** The driver, and images in place of the kernels that this jar may have. */
    @BeforeAll
    static void make() throws Exception {
        Path source = Path.of("src/test/cpp/driver.cpp");
        String headers = Path.of("src/main/cuda").toString();
        List<String> compiler =
                List.of(
                        "c++",
                        "-std=c++20",
                        "-O1",
                        "-fPIC",
                        "-shared",
                        "-pthread",
                        "-I",
                        headers,
                        "-o",
                        folder.resolve(Driver.LIBRARY).toString(),
                        source.toString());
        try {
            assertEquals("", run(compiler, ""));
        } catch (IOException absent) {
            assumeTrue(false, "there is no C++ compiler (c++): " + absent.getMessage());
        }
        Path images = Files.createDirectories(folder.resolve("org/jccl/cuda"));
        for (String each : List.of("exchange", "pieces", "transfers", "copies")) {
            Files.writeString(images.resolve(each + ".fatbin"), "software");
        }
    }

    private static String run(List<String> command, String nGpus) throws Exception {
        return run(command, nGpus, 0, "0");
    }

    private static String run(List<String> command, String nGpus, int status, String shared)
            throws Exception {
        Path output = folder.resolve("output" + nGpus);
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile());
        builder.environment().put("LD_LIBRARY_PATH", folder.toString());
        builder.environment().put("SOFTWARE_GPUS", nGpus);
        builder.environment().put("NCCL_MULTI_RANK_GPU_ENABLE", shared);
        Process process = builder.start();
        boolean ended = process.waitFor(DEADLINE_S, TimeUnit.SECONDS);
        process.destroyForcibly().waitFor();
        String said = Files.readString(output);
        assertTrue(ended, said);
        assertEquals(status, process.exitValue(), said);
        return said;
    }

    /** Surefire hides the class path in a manifest and says here what it was. */
    private static String classPath() {
        String path = System.getProperty("surefire.test.class.path");
        return path != null ? path : System.getProperty("java.class.path");
    }

    private static List<String> program(int nRanks, int nGpus) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-XX:+UseSerialGC");
        command.add("-ea");
        command.add("--add-modules=jdk.incubator.vector");
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("-cp");
        command.add(folder + File.pathSeparator + classPath());
        command.add(SoftwareGpus.class.getName());
        command.add(Integer.toString(nRanks));
        command.add(Integer.toString(nGpus));
        return command;
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void everyOperationIsRightAndMakesNoObjects(int nRanks) throws Exception {
        String said = run(program(nRanks, nRanks), Integer.toString(nRanks));
        assertTrue(said.matches("(?s).*\\b[1-9]\\d* results are right.*"), said);
        String bytes = said.replaceFirst("(?s).*a call allocates (\\d+) bytes.*", "$1");
        assertTrue(Long.parseLong(bytes) < SoftwareGpus.LEAST_OBJECT, said);
    }

    @Test
    void ranksOfAProcessShareAGpuOnlyIfTheyAreToldTo() throws Exception {
        List<String> three = program(3, 2);
        String said = run(three, "2", 1, "0");
        assertTrue(said.contains("ranks 0 and 2, both of process "), said);
        assertTrue(said.contains(", use cuda:0, where an operation of one may wait "), said);
        said = run(three, "2", 0, "1");
        assertTrue(said.matches("(?s).*\\b[1-9]\\d* results are right.*"), said);
    }
}
