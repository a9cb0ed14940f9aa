package org.jccl.embed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Results and exceptions of ranks as values of Java. */
final class GraalPyHostTest {
    private static GraalPyHost host;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @BeforeAll
    static void start() {
        host = new GraalPyHost();
    }

    @AfterAll
    static void stop() {
        host.close();
    }

    private JobEnd call(int ranks, String name, String... arguments) throws InterruptedException {
        PythonJob job = PythonJob.of(new PythonProgram.Function("programs", name), ranks);
        return host.run(job.with(List.of(arguments)).within(Duration.ofMinutes(3)).to(out, err));
    }

    @Test
    void aFunctionsValueIsJavas() throws InterruptedException {
        Map<String, Object> expected = new HashMap<>();
        expected.put("none", null);
        expected.put("yes", true);
        expected.put("int", 7L);
        expected.put("float", 2.0);
        expected.put("list", Arrays.asList(List.of("a", "b"), "x"));
        expected.put("other", "1j");
        JobEnd end = call(1, "values", "a", "b");
        assertEquals(new RankEnd.Returned(expected), end.rank(0));
        assertEquals(0, end.status());
    }

    @Test
    void ranksFindEachOtherAndTheirLinesHaveNumbers() throws InterruptedException {
        JobEnd end = call(2, "sum_of_ranks");
        assertEquals(List.of(new RankEnd.Returned(1.0), new RankEnd.Returned(1.0)), end.ranks());
        assertEquals(-1, end.firstFailed());
        assertEquals(List.of("[0] rank 0", "[1] rank 1"), lines(out));
        assertEquals(List.of("[0] and so on", "[1] and so on"), lines(err));
    }

    /** Contexts of one engine share code, which GraalPy must not write to files at once. */
    @Test
    void ranksThatStartTogetherCompileTheSameModules() throws Exception {
        Path compiled = Path.of(System.getenv("PYTHONPYCACHEPREFIX"));
        if (Files.exists(compiled)) {
            try (Stream<Path> files = Files.walk(compiled)) {
                files.map(Path::toFile).sorted(Comparator.reverseOrder()).forEach(File::delete);
            }
        }
        JobEnd end = call(4, "sum_of_ranks");
        assertEquals(Collections.nCopies(4, new RankEnd.Returned(6.0)), end.ranks());
        assertTrue(Files.exists(compiled));
    }

    @Test
    void anExceptionIsAValue() throws InterruptedException {
        JobEnd end = call(1, "odd");
        RankEnd.Raised raised = assertInstanceOf(RankEnd.Raised.class, end.rank(0));
        assertEquals("LookupError", raised.type());
        assertEquals("odd", raised.message());
        assertTrue(raised.traceback().contains("programs.py"), raised.traceback());
        assertEquals(1, end.status());
        assertEquals("rank 0 raised LookupError: odd", end.rank(0).of(0));
    }

    private static List<String> lines(ByteArrayOutputStream stream) {
        return stream.toString(StandardCharsets.UTF_8).lines().sorted().toList();
    }
}
