package org.jccl.rules;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/** The clone that the tests run in: its sources, without what a build makes. */
final class Repository {
    private static final Set<String> MADE =
            Set.of(".git", ".venv", "target", "build", "dist", "_lib", "__pycache__");

    private Repository() {}

    /** The directory of the parent pom. */
    static Path root() {
        Path here = Path.of(System.getProperty("basedir", "")).toAbsolutePath().normalize();
        for (Path up = here; up != null; up = up.getParent()) {
            if (Files.exists(up.resolve("java-core")) && Files.exists(up.resolve("pom.xml"))) {
                return up;
            }
        }
        throw new IllegalStateException("no parent pom above " + here);
    }

    /** All source files with one of these extensions ("java", "py" ...), sorted. */
    static List<Path> files(Set<String> extensions) {
        List<Path> found = new ArrayList<>();
        try {
            Files.walkFileTree(
                    root(),
                    new SimpleFileVisitor<>() {
                        @Override
                        public FileVisitResult preVisitDirectory(
                                Path directory, BasicFileAttributes attributes) {
                            return !directory.equals(root()) && isMade(name(directory))
                                    ? FileVisitResult.SKIP_SUBTREE
                                    : FileVisitResult.CONTINUE;
                        }

                        @Override
                        public FileVisitResult visitFile(Path file, BasicFileAttributes attrs) {
                            String name = name(file);
                            if (extensions.contains(name.substring(name.lastIndexOf('.') + 1))) {
                                found.add(file);
                            }
                            return FileVisitResult.CONTINUE;
                        }
                    });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Collections.sort(found);
        return found;
    }

    static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The file's path as a message shows it: from the root on. */
    static String shown(Path file) {
        return root().relativize(file).toString();
    }

    private static boolean isMade(String directory) {
        return MADE.contains(directory) || directory.endsWith("_cache");
    }

    private static String name(Path path) {
        Path name = path.getFileName();
        return name == null ? "" : name.toString();
    }
}
