package org.jccl.param;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.platform.Environment;
import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One environment variable. A reader asks the C library each time, so that what Python sets before
 * an init counts. A value that is not valid leaves the default, and each reading logs it.
 *
 * @param <T> the meaning of its value
 */
public abstract sealed class Param<T extends @Nullable Object> {
    private final String name;
    private final T defaultValue;
    private final String defaultText;

    private Param(String name, T defaultValue, String defaultText) {
        this.name = name;
        this.defaultValue = defaultValue;
        this.defaultText = defaultText;
    }

    /** The variable's name. */
    public final String name() {
        return name;
    }

    /** The default as the documentation shows it. */
    public final String defaultText() {
        return defaultText;
    }

    /** The raw value, or null if it is not set or empty. */
    public final @Nullable String text() {
        String value = Environment.get(name);
        return value == null || value.isEmpty() ? null : value;
    }

    /** The value of the variable, or the default. */
    public final T get() {
        return get(text());
    }

    final T get(@Nullable String value) {
        if (value == null) {
            return defaultValue;
        }
        try {
            T parsed = parse(value.strip());
            if (parsed != null) {
                return parsed;
            }
        } catch (NumberFormatException invalid) {
            // Logged below, like a value without a meaning.
        }
        Log.info(
                Subsystem.ENV,
                name + " value '" + value + "' is not valid, leaving it set at " + defaultText);
        return defaultValue;
    }

    /** The meaning of a value without blanks around it, null if it is not valid. */
    abstract @Nullable T parse(String value);

    /** A variable whose value is any text, which {@link #text} gives as it is. */
    public static final class Text extends Param<@Nullable String> {
        Text(String name, String defaultText) {
            super(name, null, defaultText);
        }

        @Override
        String parse(String value) {
            return value;
        }
    }

    /** A switch: a number, on unless it is 0. */
    public static final class Flag extends Param<Boolean> {
        Flag(String name, boolean defaultValue) {
            super(name, defaultValue, defaultValue ? "1" : "0");
        }

        @Override
        Boolean parse(String value) {
            return Long.decode(value) != 0;
        }
    }

    /**
     * A switch that leaves the choice to somebody else if it is not set: then its value is null.
     */
    public static final class Choice extends Param<@Nullable Boolean> {
        Choice(String name) {
            super(name, null, "unset");
        }

        @Override
        Boolean parse(String value) {
            return Long.decode(value) != 0;
        }
    }

    /** One of several words, the first by default. */
    public static final class Word extends Param<String> {
        private final List<String> words;

        Word(String name, List<String> words) {
            super(name, words.getFirst(), words.getFirst());
            this.words = words;
        }

        @Override
        @Nullable String parse(String value) {
            return words.contains(value) ? value : null;
        }
    }

    /**
     * A time in seconds, with a fraction if wanted; 0 means none. Its value is in milliseconds, and
     * at least 1 unless the time is 0.
     */
    public static final class Seconds extends Param<Long> {
        private static final long LONGEST = 1_000_000_000;

        Seconds(String name, long defaultSeconds) {
            super(
                    name,
                    defaultSeconds * 1_000,
                    defaultSeconds == 0 ? "none" : Long.toString(defaultSeconds));
        }

        /** The value in milliseconds. */
        public long getMs() {
            return get();
        }

        @Override
        @Nullable Long parse(String value) {
            // A class that takes Java 25 some 30 ms to prepare: only if it is needed.
            BigDecimal seconds = new BigDecimal(value);
            if (seconds.signum() == 0) {
                return 0L;
            }
            return seconds.signum() > 0 && seconds.compareTo(BigDecimal.valueOf(LONGEST)) <= 0
                    ? Math.max(1, seconds.movePointRight(3).longValue())
                    : null;
        }
    }

    /** Ports from one to another, both included: the first and the last, null if it is not set. */
    public static final class PortRange extends Param<int @Nullable []> {
        private static final Pattern RANGE = Pattern.compile("(\\d{1,5})(?:-(\\d{1,5}))?");
        private static final int LAST_PORT = 65535;

        PortRange(String name) {
            super(name, null, "unset");
        }

        @Override
        int @Nullable [] parse(String value) {
            Matcher matcher = RANGE.matcher(value);
            if (!matcher.matches()) {
                return null;
            }
            int first = Integer.parseInt(matcher.group(1));
            String end = matcher.group(2);
            int last = end == null ? first : Integer.parseInt(end);
            return first >= 1 && first <= last && last <= LAST_PORT
                    ? new int[] {first, last}
                    : null;
        }
    }
}
