package org.jccl.rules;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Everything that the documents for developers name exists: every path, package and class. */
final class DocumentsTest {

    /** Directories that the map's paths may start from. */
    private static final List<String> BASES =
            List.of(
                    "",
                    "java-core/src/main/java/org/jccl",
                    "java-core/src/main/c",
                    "java-core/src/main/c/python",
                    "tests-py",
                    "tests-java/src/test/java/org/jccl",
                    "python-pkg/jccl",
                    "python-pkg");

    /** Directories of packages. */
    private static final List<String> SOURCES =
            List.of(
                    "java-core/src/main/java/",
                    "python-pkg/embed/src/main/java/",
                    "cuda/src/main/java/",
                    "tests-java/src/test/java/");

    private static final Pattern CODE = Pattern.compile("`([^`\n]+)`");
    private static final Pattern PATH =
            Pattern.compile(
                    "[\\w.@-]+(/[\\w.@-]+)*(/|\\.(java|c|h|py|md|xml|toml|txt|log|json|def))");
    private static final Pattern LONG_PATH = Pattern.compile("[\\w.@-]+(/[\\w.@-]+)+/?");
    private static final Pattern PACKAGE = Pattern.compile("org\\.jccl(\\.[a-z]\\w*)+");
    private static final Pattern CLASS =
            Pattern.compile(
                    "(?:org\\.jccl\\.(?:[a-z]\\w*\\.)*)?([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)\\b.*");

    @ParameterizedTest
    @ValueSource(strings = {"ARCHITECTURE.md", "CONTRIBUTING.md"})
    void whatTheyNameExists(String document) throws IOException {
        Set<String> classes = knownClasses();
        List<String> missing = new ArrayList<>();
        int checked = 0;
        for (String name : namesIn(Repository.lines(Repository.root().resolve(document)))) {
            if (PACKAGE.matcher(name).matches()) {
                checked++;
                if (SOURCES.stream().noneMatch(in -> pathExists(in + name.replace('.', '/')))) {
                    missing.add("package " + name);
                }
            } else if (isPath(name)) {
                checked++;
                if (!pathExists(name)) {
                    missing.add("path " + name);
                }
            } else {
                Matcher type = CLASS.matcher(name);
                if (type.matches()) {
                    checked++;
                    if (!classes.contains(type.group(1))) {
                        missing.add("class " + name);
                    }
                }
            }
        }
        assertTrue(checked > 0, "no path or class was recognised in " + document);
        assertTrue(
                missing.isEmpty(),
                () -> document + " names what does not exist:\n" + String.join("\n", missing));
    }

    /** Words in code spans, and the first word of each line of a code block. */
    private static List<String> namesIn(List<String> lines) {
        List<String> names = new ArrayList<>();
        boolean inBlock = false;
        for (String line : lines) {
            if (line.strip().startsWith("```")) {
                inBlock = !inBlock;
            } else if (inBlock) {
                String first = line.strip().split("[\\s(]", 2)[0];
                if (isPath(first)) {
                    names.add(first);
                }
            } else {
                Matcher code = CODE.matcher(line);
                while (code.find()) {
                    names.add(code.group(1).strip());
                }
            }
        }
        return names;
    }

    /** A path ends in a slash or a known extension, or has a directory that the clone has. */
    private static boolean isPath(String name) {
        if (PATH.matcher(name).matches()) {
            return true;
        }
        return LONG_PATH.matcher(name).matches()
                && pathExists(name.substring(0, name.indexOf('/')));
    }

    private static boolean pathExists(String name) {
        return BASES.stream()
                .anyMatch(base -> Files.exists(Repository.root().resolve(base).resolve(name)));
    }

    /** Simple names of the classes of the clone, in Java and Python, and of the JDK's. */
    private static Set<String> knownClasses() throws IOException {
        Set<String> names = new HashSet<>();
        JavaSource.parse(Repository.files(Set.of("java")))
                .classes()
                .forEach(c -> names.add(c.name()));
        Pattern declaration = Pattern.compile("\\s*class (\\w+).*");
        for (Path file : Repository.files(Set.of("py"))) {
            for (String line : Repository.lines(file)) {
                Matcher type = declaration.matcher(line);
                if (type.matches()) {
                    names.add(type.group(1));
                }
            }
        }
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        for (String module : List.of("java.base", "java.management", "jdk.incubator.vector")) {
            if (Files.exists(modules.resolve(module))) {
                try (Stream<Path> tree = Files.walk(modules.resolve(module))) {
                    tree.map(path -> String.valueOf(path.getFileName()))
                            .filter(name -> name.endsWith(".class"))
                            .forEach(name -> names.add(name.substring(0, name.length() - 6)));
                }
            }
        }
        return names;
    }
}
