package org.jccl.log;

import org.jspecify.annotations.Nullable;

import java.util.Locale;
import java.util.function.Function;

/**
 * The values of the variables. Bits of levels are {@link Level#bit}, of subsystems {@link
 * Subsystem#bit}.
 *
 * @param file NCCL_DEBUG_FILE with its signs resolved, or null for standard output
 */
record LogSettings(int levels, int subsystems, int stampedLevels, @Nullable String file) {
    /** A name in the list of a variable, and its bit: the first has the lowest. */
    interface Bit {
        String name();

        int ordinal();

        default int bit() {
            return 1 << ordinal();
        }
    }

    private static final int ALL = -1;
    private static final int DEFAULT_SUBSYSTEMS =
            Subsystem.INIT.bit() | Subsystem.BOOTSTRAP.bit() | Subsystem.ENV.bit();
    private static final int DEFAULT_STAMPED = Level.WARN.bit() | Level.ATTN.bit();

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
        int levels = upTo(level) | (more == null ? 0 : list(more, Level.values()));
        boolean wanted = file != null && !file.isEmpty() && (levels & ~Level.VERSION.bit()) != 0;
        return new LogSettings(
                levels,
                subsystems == null ? DEFAULT_SUBSYSTEMS : list(subsystems, Subsystem.values()),
                stamped == null ? DEFAULT_STAMPED : list(stamped, Level.values()),
                wanted && file != null ? resolve(file, host, pid) : null);
    }

    boolean logs(Level level) {
        return (levels & level.bit()) != 0;
    }

    boolean logs(Subsystem subsystem) {
        return (subsystems & subsystem.bit()) != 0 && logs(Level.INFO);
    }

    boolean stamps(Level level) {
        return (stampedLevels & level.bit()) != 0;
    }

    /** A level and those before it, whose bits are all below its own; none for NONE. */
    private static int upTo(@Nullable String level) {
        String name = level == null ? "" : level.strip().toUpperCase(Locale.ROOT);
        return Math.max(0, 2 * bit(name, Level.values()) - 1);
    }

    private static int list(String text, Bit[] all) {
        boolean invert = text.startsWith("^");
        int bits = 0;
        for (String word : (invert ? text.substring(1) : text).split(",", -1)) {
            String name = word.strip().toUpperCase(Locale.ROOT);
            bits |= name.equals("ALL") ? ALL : bit(name, all);
        }
        return invert ? ~bits : bits;
    }

    private static int bit(String name, Bit[] all) {
        for (Bit each : all) {
            if (each.name().equals(name)) {
                return each.bit();
            }
        }
        return 0;
    }

    private static String resolve(String file, String host, long pid) {
        // No variable holds the sign NUL, which stands for %% meanwhile.
        return file.replace("%%", "\0")
                .replace("%p", Long.toString(pid))
                .replace("%h", host)
                .replace("\0", "%");
    }
}
