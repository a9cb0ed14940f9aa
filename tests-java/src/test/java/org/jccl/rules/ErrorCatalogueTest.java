package org.jccl.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.util.regex.Pattern.DOTALL;

import org.jccl.type.ErrorKind;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The first chapters of {@code docs/errors.md} have an entry for each constant of {@link
 * ErrorKind}. Its code and its sentences are those of the sources, and {@code -Dupdate} writes them
 * anew; cause and cure stand in the page alone. The other chapters are written by hand; the tests
 * of C and Python compare them with the sources.
 */
final class ErrorCatalogueTest {
    private static final Path PAGE = Repository.root().resolve("docs/errors.md");
    private static final String BY_HAND = "\n## Before Java runs\n";
    private static final Set<Path> SOURCES =
            Set.of(
                    Repository.root().resolve("java-core/src/main/java"),
                    Repository.root().resolve("cuda/src/main/java"));

    /** The chapters of the page in its order. */
    private static final Map<String, ErrorKind[]> CHAPTERS = new LinkedHashMap<>();

    static {
        put("Calls", ErrorKind.NULL_ARGUMENT, ErrorKind.ADDRESS_INVALID);
        put("Finding each other", ErrorKind.ROOT_FORGOT, ErrorKind.SHARED_MEMORY_FOREIGN);
        put("Other ranks", ErrorKind.LOST, ErrorKind.BUFFER_UNREADABLE);
        put("The system, and faults of JCCL", ErrorKind.SYSTEM_CALL, ErrorKind.IMPOSSIBLE);
    }

    /** A chapter has an entry for each constant from one to another, both included. */
    private static void put(String title, ErrorKind first, ErrorKind last) {
        CHAPTERS.put(title, EnumSet.range(first, last).toArray(ErrorKind[]::new));
    }

    private static final List<ErrorSites.Site> SITES =
            ErrorSites.in(sources(), Set.of("ErrorKind"));

    @Test
    void pageSaysWhatTheSourcesSay() throws IOException {
        String text = page();
        if (System.getProperty("update") != null) {
            Files.writeString(PAGE, text);
        }
        assertEquals(
                text,
                Files.readString(PAGE),
                "docs/errors.md is not what the sources say: mvn verify"
                        + " -Dtest=ErrorCatalogueTest -Dupdate writes it anew");
    }

    @Test
    void everyErrorOfJavaIsSaidSomewhere() {
        Set<String> said = SITES.stream().map(ErrorSites.Site::kind).collect(Collectors.toSet());
        Set<String> unsaid = new TreeSet<>();
        entries()
                .map(ErrorCatalogueTest::path)
                .filter(each -> !said.contains(each))
                .forEach(unsaid::add);
        assertEquals(Set.of(), unsaid, "no source names these errors");
    }

    @Test
    void everyErrorHasANameOfItsOwnACauseAndACure() throws IOException {
        Set<String> names = new HashSet<>();
        List<String> wrong = new ArrayList<>();
        for (String entry : Files.readString(PAGE).split("\n### ", -1)) {
            String name = entry.substring(0, entry.indexOf('\n'));
            boolean told =
                    Pattern.compile("^Cause: .*\\.\n\nCure: .*\\.$", Pattern.MULTILINE)
                            .matcher(entry)
                            .find();
            if (!name.startsWith("#") && !(told && names.add(name))) {
                wrong.add(name);
            }
        }
        assertEquals(List.of(), wrong);
        assertTrue(names.size() > entries().count(), names::toString);
    }

    @Test
    void sentencesAreFoundInTheSources() {
        List<String> late = said("ErrorKind.LATE");
        assertTrue(
                late.stream().anyMatch(each -> each.contains(" has waited … ms in ")),
                late::toString);
        assertTrue(said("ErrorKind.ID_USED").get(0).startsWith("this unique id has been used"));
    }

    private static Stream<ErrorKind> entries() {
        return CHAPTERS.values().stream().flatMap(Stream::of);
    }

    private static String path(ErrorKind entry) {
        return "ErrorKind." + entry.name();
    }

    private static List<Path> sources() {
        return Repository.files(Set.of("java")).stream()
                .filter(each -> SOURCES.stream().anyMatch(each::startsWith))
                .toList();
    }

    private static List<String> said(String kind) {
        return SITES.stream()
                .filter(each -> each.kind().equals(kind))
                .flatMap(each -> each.sentences().stream())
                .filter(each -> !each.equals(Sentences.VARIES))
                .distinct()
                .sorted()
                .toList();
    }

    private static String page() throws IOException {
        StringBuilder text = new StringBuilder();
        text.append("# Errors\n\n")
                .append("What JCCL says when something fails, why, and what to do. Look for words")
                .append(
                        " of the sentence;\n"
                                + "… stands for a part that varies. In Java `NcclException.kind()`")
                .append(" is the entry. `mvn verify\n-Dtest=ErrorCatalogueTest -Dupdate` writes")
                .append(" names, codes and sentences of Java's chapters from the\nsources; cause")
                .append(" and cure are written here.\n");
        String before = Files.readString(PAGE);
        CHAPTERS.forEach(
                (title, entries) -> {
                    text.append("\n## ").append(title).append('\n');
                    for (ErrorKind entry : entries) {
                        append(text, entry, before);
                    }
                });
        return text.append(before.substring(before.indexOf(BY_HAND))).toString();
    }

    private static void append(StringBuilder text, ErrorKind entry, String before) {
        String path = path(entry);
        boolean tells = SITES.stream().anyMatch(each -> each.kind().equals(path) && each.tells());
        text.append("\n### ").append(entry.name()).append("\n\n`");
        text.append(NumbersTest.ncclName(entry.says("").result())).append('`');
        text.append(tells ? ", or the code of the failure that it tells of" : "").append('\n');
        List<String> sentences = said(path);
        if (!sentences.isEmpty()) {
            text.append("\n```text\n");
            sentences.forEach(each -> text.append(each).append('\n'));
            text.append("```\n");
        }
        text.append('\n').append(explanation(entry, before)).append('\n');
    }

    /** Cause and cure as they stand in the page; a new entry has yet to be given its own. */
    private static String explanation(ErrorKind entry, String page) {
        Matcher matcher =
                Pattern.compile(
                                "\n### " + entry.name() + "\n.*?\n(Cause: .*?\n\nCure: .*?)\n",
                                DOTALL)
                        .matcher(page);
        boolean known = matcher.find() && !matcher.group().substring(1).contains("\n### ");
        return known ? matcher.group(1) : "Cause: \n\nCure: ";
    }
}
