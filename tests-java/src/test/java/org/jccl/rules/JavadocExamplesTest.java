package org.jccl.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Every example in the documentation of the library is a program that compiles. */
final class JavadocExamplesTest {
    private static final Path SOURCES = Repository.root().resolve("java-core/src/main/java");

    private static final Pattern EXAMPLE =
            Pattern.compile("<pre>(?:\\{@code)?\\n(.*?)(?:\\n *\\* *\\})?</pre>", Pattern.DOTALL);

    /** What examples may use without making it. */
    private static final String AROUND =
            """
            import java.lang.foreign.*;
            import java.util.*;
            import java.util.concurrent.*;
            import org.jccl.*;
            import org.jccl.type.*;
            class Example {
                static Communicator comm;
                static int nRanks, rank, n;
                static MemorySegment a, b;
                static void use(MemorySegment result) {}
                static void example() throws Exception {
                    CODE
                }
            }
            """;

    record Example(String place, String code) {
        @Override
        public String toString() {
            return place;
        }
    }

    static List<Example> examples() {
        List<Example> found = new ArrayList<>();
        for (Path file : Repository.files(Set.of("java"))) {
            if (file.startsWith(SOURCES)) {
                String text = String.join("\n", Repository.lines(file));
                EXAMPLE.matcher(text)
                        .results()
                        .map(each -> new Example(Repository.shown(file), code(each)))
                        .forEach(found::add);
            }
        }
        return found;
    }

    private static String code(MatchResult example) {
        return example.group(1).replaceAll("(?m)^ *\\* ?", "");
    }

    @Test
    void examplesAreFound() {
        List<String> places = examples().stream().map(Example::place).toList();
        for (String name : List.of("package-info", "AsyncCollectives", "Buffers")) {
            assertTrue(places.stream().anyMatch(each -> each.contains(name)), places::toString);
        }
    }

    @ParameterizedTest
    @MethodSource("examples")
    void anExampleCompiles(Example example, @TempDir Path classes) throws IOException {
        JavaCompiler compiler = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler());
        DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
        List<String> options =
                List.of(
                        "-d",
                        classes.toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-proc:none");
        JavaFileObject source = source(AROUND.replace("CODE", example.code));
        boolean compiled =
                compiler.getTask(null, null, said, options, null, List.of(source)).call();
        assertEquals(List.of(), said.getDiagnostics(), example.code);
        assertTrue(compiled);
    }

    private static JavaFileObject source(String text) {
        return new SimpleJavaFileObject(
                URI.create("string:///Example.java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return text;
            }
        };
    }
}
