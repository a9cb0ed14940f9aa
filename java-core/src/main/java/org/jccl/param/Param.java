package org.jccl.param;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.platform.Environment;
import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One environment variable. A reader asks the C library each time, so that what Python sets before
 * an init counts. A value that is not valid leaves the default, and each reading logs it.
 *
 * @param <T> the meaning of its value
 * @param name the variable's name
 * @param defaultText the default as the documentation shows it
 * @param meaning of a value without blanks around it; throws IllegalArgumentException if it is not
 *     valid
 */
public record Param<T extends @Nullable Object>(
        String name, T defaultValue, String defaultText, Function<String, T> meaning) {
    private static final long LONGEST_SECONDS = 1_000_000_000;
    private static final Pattern RANGE = Pattern.compile("(\\d{1,5})(?:-(\\d{1,5}))?");
    private static final int LAST_PORT = 65535;

    /** The raw value, or null if it is not set or empty. */
    public @Nullable String text() {
        String value = Environment.get(name);
        return value == null || value.isEmpty() ? null : value;
    }

    /** The value of the variable, or the default. */
    public T get() {
        return get(text());
    }

    T get(@Nullable String value) {
        if (value == null) {
            return defaultValue;
        }
        try {
            return meaning.apply(value.strip());
        } catch (IllegalArgumentException invalid) {
            Log.info(
                    Subsystem.ENV,
                    name + " value '" + value + "' is not valid, leaving it set at " + defaultText);
            return defaultValue;
        }
    }

    /** A variable whose value is any text, which {@link #text} gives as it is. */
    static Param<@Nullable String> text(String name, String defaultText) {
        return new Param<@Nullable String>(name, null, defaultText, value -> value);
    }

    /** A switch: a number, on unless it is 0. */
    static Param<Boolean> flag(String name, boolean defaultValue) {
        return new Param<>(name, defaultValue, defaultValue ? "1" : "0", Param::isOn);
    }

    /**
     * A switch that leaves the choice to somebody else if it is not set: then its value is null.
     */
    static Param<@Nullable Boolean> choice(String name) {
        return new Param<@Nullable Boolean>(name, null, "unset", Param::isOn);
    }

    private static Boolean isOn(String value) {
        return Long.decode(value) != 0;
    }

    /** One of several words, the first by default. */
    static Param<String> word(String name, List<String> words) {
        String first = words.getFirst();
        return new Param<>(name, first, first, value -> require(words.contains(value), value));
    }

    /**
     * A time in seconds, with a fraction if wanted; 0 means none. Its value is in milliseconds, and
     * at least 1 unless the time is 0.
     */
    static Param<Long> seconds(String name, long defaultSeconds) {
        String defaultText = defaultSeconds == 0 ? "none" : Long.toString(defaultSeconds);
        return new Param<>(name, defaultSeconds * 1_000, defaultText, Param::milliseconds);
    }

    private static Long milliseconds(String value) {
        // A class that takes Java 25 some 30 ms to prepare: only if it is needed.
        BigDecimal seconds = new BigDecimal(value);
        int sign = seconds.signum();
        require(sign >= 0 && seconds.compareTo(BigDecimal.valueOf(LONGEST_SECONDS)) <= 0, value);
        return sign == 0 ? 0 : Math.max(1, seconds.movePointRight(3).longValue());
    }

    /** A whole number from 1. */
    static Param<Integer> atLeastOne(String name, int defaultNumber) {
        return new Param<>(name, defaultNumber, Integer.toString(defaultNumber), Param::atLeastOne);
    }

    private static Integer atLeastOne(String value) {
        int number = Integer.parseInt(value);
        require(number >= 1, value);
        return number;
    }

    /** Ports from one to another, both included: the first and the last, null if it is not set. */
    static Param<int @Nullable []> portRange(String name) {
        return new Param<int @Nullable []>(name, null, "unset", Param::ports);
    }

    private static int[] ports(String value) {
        Matcher matcher = RANGE.matcher(value);
        require(matcher.matches(), value);
        int first = Integer.parseInt(matcher.group(1));
        String end = matcher.group(2);
        int last = end == null ? first : Integer.parseInt(end);
        require(first >= 1 && first <= last && last <= LAST_PORT, value);
        return new int[] {first, last};
    }

    private static String require(boolean valid, String value) {
        if (!valid) {
            throw new IllegalArgumentException(value);
        }
        return value;
    }
}
