package org.jccl.log;

import org.jspecify.annotations.Nullable;

import java.util.EnumSet;
import java.util.Set;
import java.util.function.Function;

/**
 * The values of the variables.
 *
 * @param file NCCL_DEBUG_FILE with its signs resolved, or null for standard output
 */
record LogSettings(
        Set<Level> levels, Set<Subsystem> subsystems, Set<Level> stamped, @Nullable String file) {
    private static final Set<Subsystem> DEFAULT_SUBSYSTEMS =
            Set.of(Subsystem.INIT, Subsystem.BOOTSTRAP, Subsystem.ENV);
    private static final Set<Level> DEFAULT_STAMPED = Set.of(Level.WARN, Level.ATTN);

    /**
     * Reads the variables by {@code environment}. They are declared in {@code Params}, which this
     * package does not know.
     */
    static LogSettings read(Function<String, @Nullable String> environment, String host, long pid) {
        String level = environment.apply("NCCL_DEBUG");
        String more = environment.apply("NCCL_DEBUG_LEVELS");
        String subsystems = environment.apply("NCCL_DEBUG_SUBSYS");
        String stamped = environment.apply("NCCL_DEBUG_TIMESTAMP_LEVELS");
        String file = environment.apply("NCCL_DEBUG_FILE");
        Set<Level> levels = upTo(level);
        if (more != null) {
            levels.addAll(list(more, Level.class));
        }
        boolean lines = levels.stream().anyMatch(each -> each != Level.VERSION);
        return new LogSettings(
                levels,
                subsystems == null ? DEFAULT_SUBSYSTEMS : list(subsystems, Subsystem.class),
                stamped == null ? DEFAULT_STAMPED : list(stamped, Level.class),
                lines && file != null && !file.isEmpty() ? resolve(file, host, pid) : null);
    }

    boolean logs(Level level) {
        return levels.contains(level);
    }

    boolean logs(Subsystem subsystem) {
        return subsystems.contains(subsystem) && logs(Level.INFO);
    }

    /** A level and those before it; none for NONE. */
    private static EnumSet<Level> upTo(@Nullable String level) {
        EnumSet<Level> named = named(level == null ? "" : level, Level.class);
        return named.isEmpty() ? named : EnumSet.range(Level.VERSION, named.iterator().next());
    }

    private static <E extends Enum<E>> EnumSet<E> list(String text, Class<E> type) {
        boolean invert = text.startsWith("^");
        EnumSet<E> listed = EnumSet.noneOf(type);
        for (String word : (invert ? text.substring(1) : text).split(",", -1)) {
            boolean all = word.strip().equalsIgnoreCase("ALL");
            listed.addAll(all ? EnumSet.allOf(type) : named(word, type));
        }
        return invert ? EnumSet.complementOf(listed) : listed;
    }

    /** The constant of that name, if there is one. */
    private static <E extends Enum<E>> EnumSet<E> named(String word, Class<E> type) {
        EnumSet<E> named = EnumSet.allOf(type);
        named.removeIf(each -> !each.name().equalsIgnoreCase(word.strip()));
        return named;
    }

    private static String resolve(String file, String host, long pid) {
        // No variable holds the sign NUL, which stands for %% meanwhile.
        return file.replace("%%", "\0")
                .replace("%p", Long.toString(pid))
                .replace("%h", host)
                .replace("\0", "%");
    }
}
