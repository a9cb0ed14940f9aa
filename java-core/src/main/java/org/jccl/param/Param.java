package org.jccl.param;

import org.jccl.platform.Environment;
import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One environment variable. A reader asks the C library each time, so that what Python sets before
 * an init counts. A value that is not valid leaves the default and is reported once per reading.
 */
public abstract sealed class Param {
    private static final int KEPT_REPORTS = 16;
    private static final List<String> EARLY_REPORTS = new ArrayList<>();

    // Written once by reportInvalidTo, read by any reader, both under EARLY_REPORTS's lock.
    private static @Nullable Consumer<String> reporter;

    private final String name;
    private final String defaultText;
    private final String sentence;

    private Param(String name, String defaultText, String sentence) {
        this.name = name;
        this.defaultText = defaultText;
        this.sentence = sentence;
    }

    /**
     * Where sentences about invalid values go: the log, which this package does not know. What was
     * reported before goes there at once.
     */
    public static void reportInvalidTo(Consumer<String> log) {
        synchronized (EARLY_REPORTS) {
            reporter = log;
            EARLY_REPORTS.forEach(log);
            EARLY_REPORTS.clear();
        }
    }

    /** The variable's name. */
    public final String name() {
        return name;
    }

    /** The default as the documentation shows it. */
    public final String defaultText() {
        return defaultText;
    }

    /** What the variable does. */
    public final String sentence() {
        return sentence;
    }

    /** The raw value, or null if it is not set or empty. */
    public final @Nullable String text() {
        String value = Environment.get(name);
        return value == null || value.isEmpty() ? null : value;
    }

    final void reportInvalid(String value) {
        String report =
                name + " value '" + value + "' is not valid, leaving it set at " + defaultText;
        synchronized (EARLY_REPORTS) {
            if (reporter != null) {
                reporter.accept(report);
            } else if (EARLY_REPORTS.size() < KEPT_REPORTS) {
                EARLY_REPORTS.add(report);
            }
        }
    }

    /** A variable whose value is any text. */
    public static final class Text extends Param {
        Text(String name, String defaultText, String sentence) {
            super(name, defaultText, sentence);
        }
    }

    /** A switch: a number, on unless it is 0. */
    public static final class Flag extends Param {
        private final boolean defaultValue;

        Flag(String name, boolean defaultValue, String sentence) {
            super(name, defaultValue ? "1" : "0", sentence);
            this.defaultValue = defaultValue;
        }

        /** Whether it is on. */
        public boolean get() {
            return get(text());
        }

        boolean get(@Nullable String value) {
            if (value == null) {
                return defaultValue;
            }
            try {
                return Long.decode(value.strip()) != 0;
            } catch (NumberFormatException invalid) {
                reportInvalid(value);
                return defaultValue;
            }
        }
    }

    /** A switch that may also be left to somebody else. */
    public static final class Choice extends Param {
        Choice(String name, String sentence) {
            super(name, "unset", sentence);
        }

        /** True or false as the variable says, null if it is not set. */
        public @Nullable Boolean get() {
            return get(text());
        }

        @Nullable Boolean get(@Nullable String value) {
            if (value == null) {
                return null;
            }
            try {
                return Long.decode(value.strip()) != 0;
            } catch (NumberFormatException invalid) {
                reportInvalid(value);
                return null;
            }
        }
    }

    /** One of several words, the first by default. */
    public static final class Word extends Param {
        private final List<String> words;

        Word(String name, List<String> words, String sentence) {
            super(name, words.getFirst(), sentence);
            this.words = words;
        }

        /** The word. */
        public String get() {
            return get(text());
        }

        String get(@Nullable String value) {
            if (value == null) {
                return words.getFirst();
            }
            if (words.contains(value.strip())) {
                return value.strip();
            }
            reportInvalid(value);
            return words.getFirst();
        }
    }

    /** A whole number between limits. */
    public static final class Whole extends Param {
        private final long defaultValue;
        private final long smallest;
        private final long largest;

        Whole(String name, long defaultValue, long smallest, long largest, String sentence) {
            super(name, Long.toString(defaultValue), sentence);
            this.defaultValue = defaultValue;
            this.smallest = smallest;
            this.largest = largest;
        }

        /** The value. */
        public long get() {
            return get(text());
        }

        long get(@Nullable String value) {
            if (value == null) {
                return defaultValue;
            }
            try {
                long number = Long.decode(value.strip());
                if (number >= smallest && number <= largest) {
                    return number;
                }
            } catch (NumberFormatException invalid) {
                // Reported below, as a number out of bounds is.
            }
            reportInvalid(value);
            return defaultValue;
        }
    }

    /** A time in seconds, with a fraction if wanted; 0 means none. */
    public static final class Seconds extends Param {
        private static final long LONGEST = 1_000_000_000;

        private final long defaultMs;

        Seconds(String name, long defaultSeconds, String sentence) {
            super(name, defaultSeconds == 0 ? "none" : Long.toString(defaultSeconds), sentence);
            this.defaultMs = defaultSeconds * 1_000;
        }

        /** The value in milliseconds; a value above 0 is at least one. */
        public long getMs() {
            return getMs(text());
        }

        long getMs(@Nullable String value) {
            if (value == null) {
                return defaultMs;
            }
            try {
                // A class that takes Java 25 some 30 ms to prepare: only if it is needed.
                BigDecimal seconds = new BigDecimal(value.strip());
                if (seconds.signum() == 0) {
                    return 0;
                }
                if (seconds.signum() > 0 && seconds.compareTo(BigDecimal.valueOf(LONGEST)) <= 0) {
                    return Math.max(1, seconds.movePointRight(3).longValue());
                }
            } catch (NumberFormatException invalid) {
                // Reported below, as a time out of bounds is.
            }
            reportInvalid(value);
            return defaultMs;
        }
    }

    /** Ports from one to another, both included. */
    public static final class PortRange extends Param {
        private static final Pattern RANGE = Pattern.compile("(\\d{1,5})(?:-(\\d{1,5}))?");
        private static final int LAST_PORT = 65535;

        PortRange(String name, String sentence) {
            super(name, "unset", sentence);
        }

        /** First and last port, or null if it is not set. */
        public int @Nullable [] get() {
            return get(text());
        }

        int @Nullable [] get(@Nullable String value) {
            if (value == null) {
                return null;
            }
            Matcher matcher = RANGE.matcher(value.strip());
            if (matcher.matches()) {
                int first = Integer.parseInt(matcher.group(1));
                String end = matcher.group(2);
                int last = end == null ? first : Integer.parseInt(end);
                if (first >= 1 && first <= last && last <= LAST_PORT) {
                    return new int[] {first, last};
                }
            }
            reportInvalid(value);
            return null;
        }
    }
}
