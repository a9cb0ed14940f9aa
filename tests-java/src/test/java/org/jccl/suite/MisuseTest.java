package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Cluster;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;

/**
 * Every wrong call of tests-py/misuse.txt that Java has, on one thread and on another: in a process
 * that has seen those before it, and in a long run in one of its own, which must come to its end.
 */
final class MisuseTest {
    private static final Path TABLE = Path.of("..", "tests-py", "misuse.txt");
    private static final int JAVA = 2;
    private static final int SENTENCE = 4;

    /** A case, how it ends in Java, and what its sentence says. */
    record Row(String name, String answer, List<String> parts) {
        @Override
        public String toString() {
            return name;
        }
    }

    static List<Row> rows() throws IOException {
        return Files.readAllLines(TABLE).stream()
                .filter(line -> !line.startsWith("#"))
                .map(line -> Arrays.stream(line.split("\\|", -1)).map(String::strip).toList())
                .filter(cells -> !cells.get(JAVA).equals("-"))
                .map(MisuseTest::row)
                .toList();
    }

    private static Row row(List<String> cells) {
        List<String> parts =
                Arrays.stream(cells.get(SENTENCE).split(";")).map(String::strip).toList();
        return new Row(cells.getFirst(), cells.get(JAVA), parts);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void wrongCallIsAnsweredAsTheTableSays(Row row) {
        check(Cluster.processes(1), row);
    }

    @Tag("stress")
    @ParameterizedTest
    @MethodSource("rows")
    void wrongCallKeepsNoProcessFromItsEnd(Row row) {
        check(Cluster.processes(1).once(), row);
    }

    private static void check(Cluster cluster, Row row) {
        List<String> said =
                cluster.run(Misuse.class, row.name()).assertAllSucceeded().rank(0).said();
        assertEquals(2, said.size(), said::toString);
        for (String answer : said) {
            String[] words = answer.split(" ", 2);
            assertEquals(row.answer(), words[0], answer);
            for (String part : row.answer().equals("ok") ? List.<String>of() : row.parts()) {
                assertTrue(
                        Arrays.stream(part.split("/")).anyMatch(words[1]::contains),
                        () -> part + " is not in: " + answer);
            }
        }
    }

    @Test
    void tableIsComplete() throws IOException {
        TreeSet<String> names = new TreeSet<>();
        rows().forEach(row -> names.add(row.name()));
        assertEquals(names, new TreeSet<>(Misuse.cases()));
    }
}
