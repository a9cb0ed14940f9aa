package org.jccl.log;

import org.jspecify.annotations.Nullable;

import java.util.Locale;
import java.util.function.Function;

/**
 * What the variables say. Bits of levels are {@link Level#bit}, of subsystems {@link
 * Subsystem#bit}.
 *
 * @param file NCCL_DEBUG_FILE with its signs resolved, or null for standard output
 */
record Settings(int levels, int subsystems, int stampedLevels, @Nullable String file) {
    private static final int ALL = -1;
    private static final int DEFAULT_SUBSYSTEMS =
            Subsystem.INIT.bit() | Subsystem.BOOTSTRAP.bit() | Subsystem.ENV.bit();
    private static final int DEFAULT_STAMPED = Level.WARN.bit() | Level.ATTN.bit();

    /**
     * Reads the variables by {@code environment}. They are declared in {@code Params}, which this
     * package does not know.
     */
    static Settings read(Function<String, @Nullable String> environment, String host, long pid) {
        String level = environment.apply("NCCL_DEBUG");
        String more = environment.apply("NCCL_DEBUG_LEVELS");
        String subsystems = environment.apply("NCCL_DEBUG_SUBSYS");
        String stamped = environment.apply("NCCL_DEBUG_TIMESTAMP_LEVELS");
        String file = environment.apply("NCCL_DEBUG_FILE");
        int levels = upTo(level) | (more == null ? 0 : list(more, Settings::levelBit));
        boolean wanted = file != null && !file.isEmpty() && (levels & ~Level.VERSION.bit()) != 0;
        return new Settings(
                levels,
                subsystems == null ? DEFAULT_SUBSYSTEMS : list(subsystems, Settings::subsystemBit),
                stamped == null ? DEFAULT_STAMPED : list(stamped, Settings::levelBit),
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

    private static int upTo(@Nullable String text) {
        int bits = 0;
        String name = text == null ? "" : text.strip().toUpperCase(Locale.ROOT);
        for (Level level : Level.values()) {
            bits |= level.bit();
            if (level.name().equals(name)) {
                return bits;
            }
        }
        return 0;
    }

    private static int list(String text, Function<String, Integer> bitOf) {
        boolean invert = text.startsWith("^");
        int bits = 0;
        for (String word : (invert ? text.substring(1) : text).split(",", -1)) {
            String name = word.strip().toUpperCase(Locale.ROOT);
            bits |= name.equals("ALL") ? ALL : bitOf.apply(name);
        }
        return invert ? ~bits : bits;
    }

    private static int levelBit(String name) {
        for (Level level : Level.values()) {
            if (level.name().equals(name)) {
                return level.bit();
            }
        }
        return 0;
    }

    private static int subsystemBit(String name) {
        for (Subsystem subsystem : Subsystem.values()) {
            if (subsystem.name().equals(name)) {
                return subsystem.bit();
            }
        }
        return 0;
    }

    private static String resolve(String file, String host, long pid) {
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < file.length(); i++) {
            char sign = i + 1 < file.length() && file.charAt(i) == '%' ? file.charAt(i + 1) : 0;
            switch (sign) {
                case 'h' -> name.append(host);
                case 'p' -> name.append(pid);
                case '%' -> name.append('%');
                default -> name.append(file.charAt(i));
            }
            i += sign == 'h' || sign == 'p' || sign == '%' ? 1 : 0;
        }
        return name.toString();
    }
}
