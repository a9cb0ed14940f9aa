package org.jccl.embed;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The package jep of a Python: a jar and a native library, which fit each other and nothing else.
 *
 * @param python the executable, as it names itself
 * @param folder where the package is installed
 * @param jar its only jar
 * @param library what Java loads
 */
record JepPackage(Path python, Path folder, Path jar, Path library) {
    private static final String ASK =
            "import importlib.util as u, sys; s = u.find_spec('jep'); print(sys.executable);"
                    + " print(s.submodule_search_locations[0] if s else '')";

    /**
     * Finds it by asking the Python, and checks that its jar and its library are of one version.
     */
    static JepPackage of(Path python) throws IOException, InterruptedException {
        Process asked =
                new ProcessBuilder(python.toString(), "-c", ASK)
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        String answer =
                new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        String[] lines = answer.split("\n");
        if (asked.waitFor() != 0 || lines.length != 2) {
            throw new IllegalStateException(
                    python + " has no package jep; install it there: pip install jep");
        }
        return in(Path.of(lines[1]), Path.of(lines[0]));
    }

    /** The package in this folder. */
    static JepPackage in(Path folder, Path python) throws IOException {
        List<Path> jars;
        try (Stream<Path> files = Files.list(folder)) {
            jars = files.filter(file -> isJar(file.getFileName().toString())).toList();
        }
        Path library = folder.resolve("libjep.so");
        if (jars.size() != 1 || !Files.exists(library)) {
            throw new IllegalStateException(
                    folder + " has no jar of Jep or no libjep.so, or several; install jep again");
        }
        String version = version(folder);
        String named = jars.getFirst().getFileName().toString();
        if (!named.equals("jep-" + version + ".jar")) {
            throw new IllegalStateException(
                    folder + " is Jep " + version + ", but has " + named + "; install jep again");
        }
        return new JepPackage(python, folder, jars.getFirst(), library);
    }

    private static boolean isJar(String name) {
        return name.startsWith("jep-") && name.endsWith(".jar");
    }

    private static String version(Path folder) throws IOException {
        for (String line : Files.readAllLines(folder.resolve("version.py"))) {
            if (line.startsWith("__VERSION__")) {
                return line.substring(line.indexOf('=') + 1).replaceAll("[\"' ]", "");
            }
        }
        return "of no version";
    }

    /** Refuses classes of Jep that come from another jar than this. */
    void requireClassesOf(Class<?> loaded) {
        Path from;
        try {
            from = Path.of(loaded.getProtectionDomain().getCodeSource().getLocation().toURI());
            if (Files.isSameFile(from, jar)) {
                return;
            }
        } catch (IOException | java.net.URISyntaxException e) {
            throw new IllegalStateException("Jep's classes come from no file", e);
        }
        throw new IllegalStateException(
                "Jep's classes come from "
                        + from
                        + ", but its library needs those of "
                        + jar
                        + "; put that jar on the class path");
    }
}
