package org.jccl.rules;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** Sizes, names and comments of the sources, in Java, C and Python. */
final class TidyTest {
    private static final int METHOD_LINES = 70;
    private static final int FILE_LINES = 500;

    private static final Pattern FORBIDDEN_NAME =
            Pattern.compile(".*(Manager|Helper|Util|Utils|Impl|Service|Processor)");

    /** Comments that tell a file's past: dates, and dashes that lead to a remark of one. */
    private static final Pattern HISTORY =
            Pattern.compile(
                    "(?i)(//|\\*|#).*(\\b(19|20)\\d\\d-\\d\\d-\\d\\d\\b|\\bchange ?log\\b"
                            + "|--+ *(added|changed|fixed|removed|moved|renamed|was)\\b"
                            + "|\\b(added|changed|fixed|removed) (by|in|on|for) v?\\d)");

    /** Lines of dashes or equals signs that draw sections into a file. */
    private static final Pattern RULER =
            Pattern.compile("\\s*(//|/?\\*|#)\\s*([-=*#~]\\s?){4,}\\*?/?");

    private static final List<Path> JAVA = Repository.files(Set.of("java"));
    private static final List<Path> ALL =
            Repository.files(Set.of("java", "c", "h", "def", "cu", "py", "sh"));
    private static final JavaSource.Declarations DECLARATIONS = JavaSource.parse(JAVA);

    @Test
    void filesAreShort() {
        List<String> wrong = new ArrayList<>();
        for (Path file : ALL) {
            int count = Repository.lines(file).size();
            if (count > FILE_LINES) {
                wrong.add(Repository.shown(file) + " has " + count + " lines");
            }
        }
        expectNone(wrong);
    }

    @Test
    void methodsAreShort() {
        List<String> wrong = new ArrayList<>();
        for (JavaSource.Declaration method : DECLARATIONS.methods()) {
            if (method.lineCount() > METHOD_LINES) {
                wrong.add(method + " has " + method.lineCount() + " lines");
            }
        }
        assertTrue(DECLARATIONS.methods().size() > 10, "the parser found no methods");
        expectNone(wrong);
    }

    @Test
    void functionsOfTheBridgeAreShort() {
        List<String> wrong = new ArrayList<>();
        for (Path file : Repository.files(Set.of("c"))) {
            List<String> lines = Repository.lines(file);
            int start = -1;
            for (int i = 0; i < lines.size(); i++) {
                String line = lines.get(i);
                // clang-format begins and ends a function in the first column.
                if (line.endsWith("{") && !Character.isWhitespace(line.charAt(0))) {
                    start = i;
                } else if (line.equals("}") && i - start + 1 > METHOD_LINES) {
                    wrong.add(Repository.shown(file) + ":" + (start + 1) + " is too long");
                }
            }
        }
        expectNone(wrong);
    }

    @Test
    void namesSayWhatAThingIs() {
        List<String> wrong = new ArrayList<>();
        for (JavaSource.Declaration type : DECLARATIONS.classes()) {
            if (FORBIDDEN_NAME.matcher(type.name()).matches()) {
                wrong.add(type.toString());
            }
        }
        for (Path file : Repository.files(Set.of("py"))) {
            for (String line : Repository.lines(file)) {
                String name = line.strip().replaceFirst("^class (\\w+).*", "$1");
                if (line.strip().startsWith("class ") && FORBIDDEN_NAME.matcher(name).matches()) {
                    wrong.add(Repository.shown(file) + " " + name);
                }
            }
        }
        expectNone(wrong);
    }

    @Test
    void commentsTellNoHistory() {
        expectNone(matching(HISTORY));
    }

    @Test
    void commentsDrawNoRulers() {
        expectNone(matching(RULER));
    }

    @Test
    void everyPackageIsNullMarked() {
        List<String> wrong = new ArrayList<>();
        for (Path file : JAVA) {
            Path directory = file.getParent();
            if (directory != null && Repository.shown(file).contains("src/main/java")) {
                Path info = directory.resolve("package-info.java");
                if (!JAVA.contains(info)) {
                    wrong.add(Repository.shown(directory) + " has no package-info.java");
                } else if (!Repository.lines(info).contains("@NullMarked")) {
                    wrong.add(Repository.shown(info) + " is not @NullMarked");
                }
            }
        }
        expectNone(wrong.stream().distinct().toList());
    }

    private static List<String> matching(Pattern pattern) {
        List<String> wrong = new ArrayList<>();
        for (Path file : ALL) {
            List<String> lines = Repository.lines(file);
            for (int i = 0; i < lines.size(); i++) {
                if (pattern.matcher(lines.get(i)).matches()
                        || (pattern == HISTORY && pattern.matcher(lines.get(i)).find())) {
                    wrong.add(Repository.shown(file) + ":" + (i + 1) + " " + lines.get(i).strip());
                }
            }
        }
        return wrong;
    }

    private static void expectNone(List<String> wrong) {
        assertTrue(wrong.isEmpty(), () -> String.join("\n", wrong));
    }
}
