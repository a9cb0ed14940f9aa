package org.jccl.log;

import org.jccl.platform.Environment;
import org.jccl.platform.ProcessIdentity;

import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * Hands each line of this process's log to a test, in the thread that logs it. NCCL_DEBUG says what
 * is logged.
 */
public final class LogTap implements AutoCloseable {
    /** Hands over the lines from now on. */
    public LogTap(Consumer<String> listener) {
        use(line -> listener.accept(new String(line, StandardCharsets.UTF_8)));
    }

    /** The same settings as the log would read again by itself. */
    private static void use(Consumer<byte[]> lines) {
        long pid = ProcessIdentity.current().pid();
        LogSettings settings = LogSettings.read(Environment::get, "host", pid);
        Log.output = new Log.Output(settings, lines);
    }

    @Override
    public void close() {
        use(LogTap::print);
    }

    /** To standard output. */
    static void print(byte[] line) {
        System.out.writeBytes(line);
        System.out.flush();
    }
}
