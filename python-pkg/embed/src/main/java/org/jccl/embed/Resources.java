package org.jccl.embed;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** Files that come with the jar. */
final class Resources {
    private static final String PROGRAM = "rank.py";

    private Resources() {}

    /** The text of {@code rank.py}. */
    static String program() {
        try (InputStream in = Resources.class.getResourceAsStream(PROGRAM)) {
            if (in == null) {
                throw new IllegalStateException("jccl-embed.jar has no " + PROGRAM);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The jar of this class, or the folder of its classes. */
    static Path jar() {
        try {
            return Path.of(
                    Resources.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The folder beside the jar that has the package {@code jccl}. */
    static Path packages() {
        return jar().resolveSibling("python");
    }

    /** Where GraalPy keeps compiled modules: a folder of the user's. Files name its version. */
    static String bytecode() {
        String chosen = System.getenv("PYTHONPYCACHEPREFIX");
        if (chosen != null && !chosen.isEmpty()) {
            return chosen;
        }
        String cache = System.getenv("XDG_CACHE_HOME");
        Path below =
                cache == null || cache.isEmpty()
                        ? Path.of(System.getProperty("user.home"), ".cache")
                        : Path.of(cache);
        return below.resolve("jccl-embed").resolve("pycache").toString();
    }

    /** The variables of the environment by which a program learns its rank. */
    static List<String> variables(int rank, int ranks) {
        return List.of(
                "RANK=" + rank,
                "WORLD_SIZE=" + ranks,
                "LOCAL_RANK=" + rank,
                "LOCAL_WORLD_SIZE=" + ranks);
    }
}
