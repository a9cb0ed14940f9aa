package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.BeforeAll;
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
        for (String each : List.of("exchange", "pieces", "transfers")) {
            Files.writeString(images.resolve(each + ".fatbin"), "software");
        }
    }

    private static String run(List<String> command, String ranks) throws Exception {
        Path output = folder.resolve("output" + ranks);
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile());
        builder.environment().put("LD_LIBRARY_PATH", folder.toString());
        builder.environment().put("SOFTWARE_GPUS", ranks);
        Process process = builder.start();
        boolean ended = process.waitFor(DEADLINE_S, TimeUnit.SECONDS);
        process.destroyForcibly().waitFor();
        String said = Files.readString(output);
        assertEquals(true, ended, said);
        assertEquals(0, process.exitValue(), said);
        return said;
    }

    /** Surefire hides the class path in a manifest and says here what it was. */
    private static String classPath() {
        String path = System.getProperty("surefire.test.class.path");
        return path != null ? path : System.getProperty("java.class.path");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void everyOperationIsRightAndMakesNoObjects(int nRanks) throws Exception {
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
        String said = run(command, Integer.toString(nRanks));
        assertEquals(true, said.matches("(?s).*\\b[1-9]\\d* results are right.*"), said);
        String bytes = said.replaceFirst("(?s).*a call allocates (\\d+) bytes.*", "$1");
        assertEquals(true, Long.parseLong(bytes) < SoftwareGpus.LEAST_OBJECT, said);
    }
}
