package org.jccl.fuzz;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** The inputs that are kept: a file for each target, of lines with an outcome, a tab and bytes. */
final class Corpus {
    /** Where new outcomes are added: {@code src/test/resources/fuzz} makes them part of it. */
    private static final String ADD_TO = System.getProperty("jccl.fuzz.corpus", "");

    /** An input and what came of it. */
    record Entry(String outcome, String hex) {
        static Entry of(String outcome, byte[] input) {
            return new Entry(outcome, HexFormat.of().formatHex(input));
        }

        byte[] input() {
            return HexFormat.of().parseHex(hex);
        }

        String line() {
            return outcome + "\t" + hex + "\n";
        }
    }

    private Corpus() {}

    /** The entries of a target. */
    static List<Entry> of(FuzzTarget target) {
        List<Entry> entries = new ArrayList<>();
        String file = "/fuzz/" + target.name() + ".txt";
        try (InputStream in = Corpus.class.getResourceAsStream(file)) {
            if (in == null) {
                return entries;
            }
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            for (String line : text.lines().toList()) {
                String[] parts = line.split("\t", 2);
                entries.add(new Entry(parts[0], parts[1]));
            }
            return entries;
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    /** Keeps an input with a new outcome, if the run asks for that. */
    static void add(FuzzTarget target, Entry entry) {
        if (ADD_TO.isEmpty()) {
            return;
        }
        Path file = Path.of(ADD_TO, target.name() + ".txt");
        try {
            Files.writeString(
                    file, entry.line(), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException unwritable) {
            throw new UncheckedIOException(unwritable);
        }
    }
}
