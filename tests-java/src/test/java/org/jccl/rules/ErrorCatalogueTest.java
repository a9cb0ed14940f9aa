package org.jccl.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.BridgeError;
import org.jccl.type.CallError;
import org.jccl.type.CatalogueEntry;
import org.jccl.type.ErrorKind;
import org.jccl.type.InitError;
import org.jccl.type.LibraryError;
import org.jccl.type.PeerError;
import org.jccl.type.PythonError;
import org.jccl.type.TorchError;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * {@code docs/errors.md} is what the enums of errors and the sentences of the sources say; with
 * {@code -Dupdate} it is written anew. That C and Python say what the page says is a test of
 * theirs.
 */
final class ErrorCatalogueTest {
    private static final Path PAGE = Repository.root().resolve("docs/errors.md");
    private static final Path SOURCES = Repository.root().resolve("java-core/src/main/java");

    /** The chapters of the page in its order. */
    private static final Map<String, CatalogueEntry[]> CHAPTERS = new LinkedHashMap<>();

    static {
        CHAPTERS.put("Calls", CallError.values());
        CHAPTERS.put("Finding each other", InitError.values());
        CHAPTERS.put("Other ranks", PeerError.values());
        CHAPTERS.put("The system, and faults of JCCL", LibraryError.values());
        CHAPTERS.put("Before Java runs", BridgeError.values());
        CHAPTERS.put("Python: jccl.core", PythonError.values());
        CHAPTERS.put("Python: jccl.torch", TorchError.values());
    }

    private static final List<ErrorSites.Site> SITES = ErrorSites.in(sources(), enums());

    @Test
    void pageSaysWhatTheSourcesSay() throws IOException {
        String text = page();
        if (System.getProperty("update") != null) {
            Files.writeString(PAGE, text);
        }
        assertEquals(
                text,
                Files.exists(PAGE) ? Files.readString(PAGE) : "",
                "docs/errors.md is not what the sources say: mvn verify"
                        + " -Dtest=ErrorCatalogueTest -Dupdate writes it anew");
    }

    @Test
    void everyErrorOfJavaIsSaidSomewhere() {
        Set<String> said = SITES.stream().map(ErrorSites.Site::kind).collect(Collectors.toSet());
        Set<String> unsaid = new TreeSet<>();
        entries()
                .filter(ErrorKind.class::isInstance)
                .map(ErrorCatalogueTest::path)
                .filter(each -> !said.contains(each))
                .forEach(unsaid::add);
        assertEquals(Set.of(), unsaid, "no source names these errors");
    }

    @Test
    void everyErrorHasANameOfItsOwnACauseAndACure() {
        Set<String> names = new HashSet<>();
        List<String> wrong = new ArrayList<>();
        entries()
                .forEach(
                        each -> {
                            boolean told =
                                    each.explanation().cause().endsWith(".")
                                            && each.explanation().cure().endsWith(".");
                            if (!told || !names.add(each.name())) {
                                wrong.add(path(each));
                            }
                        });
        assertEquals(List.of(), wrong);
    }

    @Test
    void sentencesAreFoundInTheSources() {
        List<String> late = said("PeerError.LATE");
        assertTrue(
                late.stream().anyMatch(each -> each.contains(" has waited … ms in ")),
                late::toString);
        assertTrue(said("CallError.ID_USED").get(0).startsWith("this unique id has been used"));
    }

    private static Stream<CatalogueEntry> entries() {
        return CHAPTERS.values().stream().flatMap(Stream::of);
    }

    private static Set<String> enums() {
        return entries().map(each -> each.getClass().getSimpleName()).collect(Collectors.toSet());
    }

    private static String path(CatalogueEntry entry) {
        return entry.getClass().getSimpleName() + "." + entry.name();
    }

    private static List<Path> sources() {
        return Repository.files(Set.of("java")).stream()
                .filter(each -> each.startsWith(SOURCES))
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

    private static String page() {
        StringBuilder text = new StringBuilder();
        text.append("# Errors\n\n")
                .append("What JCCL says when something fails, why, and what to do. Look for words")
                .append(
                        " of the sentence;\n"
                                + "… stands for a part that varies. Made from the enums of")
                .append(" `org.jccl.type` and the sources by\n`mvn verify")
                .append(" -Dtest=ErrorCatalogueTest -Dupdate`. In Java `NcclException.kind()`")
                .append(" is the entry.\n");
        CHAPTERS.forEach(
                (title, entries) -> {
                    text.append("\n## ").append(title).append('\n');
                    for (CatalogueEntry entry : entries) {
                        append(text, entry);
                    }
                });
        return text.toString();
    }

    private static void append(StringBuilder text, CatalogueEntry entry) {
        String path = path(entry);
        boolean tells = SITES.stream().anyMatch(each -> each.kind().equals(path) && each.tells());
        text.append("\n### ").append(entry.name()).append("\n\n`");
        text.append(entry.explanation().raises()).append('`');
        text.append(tells ? ", or the code of the failure that it tells of" : "").append('\n');
        List<String> sentences = new ArrayList<>(said(path));
        sentences.addAll(entry.explanation().sentences());
        if (!sentences.isEmpty()) {
            text.append("\n```text\n");
            sentences.forEach(each -> text.append(each).append('\n'));
            text.append("```\n");
        }
        text.append("\nCause: ").append(entry.explanation().cause());
        text.append("\n\nCure: ").append(entry.explanation().cure()).append('\n');
    }
}
