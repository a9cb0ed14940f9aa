package org.jccl.log;

import org.jccl.platform.Environment;
import org.jccl.platform.ProcessIdentity;
import org.jccl.platform.Threads;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Sentence;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * NCCL's log. The variables are read at the first line and at each {@link #refresh}.
 *
 * <p>A unique id is a secret and never logged.
 */
public final class Log {
    private static final String SELF = Log.class.getName();
    private static final StackWalker STACK = StackWalker.getInstance();
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("'['uuuu-MM-dd HH:mm:ss'] '", Locale.ROOT);

    /**
     * Classes that handlers of failures need, loaded in advance: loading takes memory, and without
     * any the virtual machine finds no handler.
     */
    static final List<Class<?>> NEEDED =
            List.of(
                    Error.class,
                    RuntimeException.class,
                    OutOfMemoryError.class,
                    StackOverflowError.class,
                    LockSupport.class);

    static {
        Unforeseen.prepare();
    }

    /** Settings, and what takes the lines. */
    record Output(LogSettings settings, Consumer<byte[]> lines) {}

    // Written by refresh under the class's lock, read by every line; immutable, so any order does.
    static volatile @Nullable Output output;

    private Log() {}

    /** Reads the variables again, as every init does. */
    public static synchronized void refresh() {
        LogSettings settings =
                LogSettings.read(Environment::get, host(), ProcessIdentity.current().pid());
        Output before = output;
        if (before != null && Objects.equals(before.settings().file(), settings.file())) {
            output = new Output(settings, before.lines());
            return;
        }
        LogFile file = new LogFile(settings.file());
        output = new Output(settings, file);
        if (settings.file() != null) {
            // It is opened now, so that it is there before it has a line.
            file.accept(new byte[0]);
        }
    }

    /** Warns of a failure that a thread survives, if that can be said; nothing is thrown. */
    public static void survived(String what, Throwable failure) {
        try {
            warn(ErrorKind.SURVIVED.says(what + failure));
        } catch (RuntimeException | Error unsaid) {
            // Without memory even a first string concatenation fails, and in its own way.
        }
    }

    /** An error: always the text of the last error, and a line at level WARN. */
    public static void warn(String text) {
        LastError.set(text);
        if (current().settings().logs(Level.WARN)) {
            line(Level.WARN, caller(), text);
        }
    }

    /** The sentence of a failure. */
    public static void warn(NcclException why) {
        warn(String.valueOf(why.getMessage()));
    }

    /** Something that the user should know and that is no error. */
    public static void attn(String text) {
        if (current().settings().logs(Level.ATTN)) {
            line(Level.ATTN, caller(), text);
        }
    }

    /** A step of what JCCL does: a {@link Sentence} with its parts. */
    public static void info(Subsystem subsystem, String sentence, @Nullable Object... parts) {
        if (current().settings().logs(subsystem)) {
            line(Level.INFO, "", Sentence.of(sentence, parts));
        }
    }

    /** The bare version line: rank 0 writes it from level VERSION on, every rank above WARN. */
    public static void version(int rank, String text) {
        LogSettings settings = current().settings();
        boolean everyRank =
                settings.levels().stream().anyMatch(each -> each.compareTo(Level.WARN) > 0);
        if (everyRank || (rank == 0 && !settings.levels().isEmpty())) {
            write(text + "\n");
        }
    }

    /**
     * Waits, at most a second, until all lines are written: the end of the process loses those that
     * are not.
     */
    public static void flush() {
        if (!current().settings().levels().isEmpty()) {
            LogWriter.flush();
        }
    }

    private static Output current() {
        Output known = output;
        if (known == null) {
            refresh();
            known = Objects.requireNonNull(output);
        }
        return known;
    }

    private static void line(Level level, String place, String text) {
        StringBuilder line = new StringBuilder();
        if (!place.isEmpty()) {
            line.append('\n');
        }
        if (current().settings().stamped().contains(level)) {
            line.append(STAMP.format(LocalDateTime.now(ZoneId.systemDefault())));
        }
        line.append(head()).append(place);
        line.append("NCCL ").append(level).append(' ').append(text).append('\n');
        write(line.toString());
    }

    /** Host, process and thread, as lines begin. */
    static String head() {
        return host() + ":" + ProcessIdentity.current().pid() + ":" + Threads.id() + " [-1] ";
    }

    private static void write(String text) {
        current().lines().accept(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String caller() {
        return STACK.walk(
                frames ->
                        frames.filter(each -> !each.getClassName().equals(SELF))
                                .findFirst()
                                .map(Log::describe)
                                .orElse(""));
    }

    private static String describe(StackWalker.StackFrame frame) {
        String place = frame.getFileName() + ":" + frame.getLineNumber();
        return place + " (" + frame.getMethodName() + ") ";
    }

    private static String host() {
        String name = ProcessIdentity.current().hostName();
        int dot = name.indexOf('.');
        return dot > 0 ? name.substring(0, dot) : name;
    }
}
