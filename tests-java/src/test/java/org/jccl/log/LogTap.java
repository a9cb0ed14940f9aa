package org.jccl.log;

import org.jccl.platform.Environment;
import org.jccl.platform.ProcessIdentity;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * Hands each line of this process's log to a test, in the thread that logs it. NCCL_DEBUG says what
 * is logged.
 */
public final class LogTap implements AutoCloseable {
    /** Hands over the lines from now on. */
    public LogTap(Consumer<String> listener) {
        OutputStream stream =
                new OutputStream() {
                    @Override
                    public void write(int b) throws IOException {
                        throw new IOException("lines come as a whole");
                    }

                    @Override
                    public void write(byte[] bytes) {
                        listener.accept(new String(bytes, StandardCharsets.UTF_8));
                    }
                };
        use(stream);
    }

    /** The same settings as the log would read again by itself. */
    private static void use(OutputStream stream) {
        long pid = ProcessIdentity.current().pid();
        Log.use(LogSettings.read(Environment::get, "host", pid), stream);
    }

    @Override
    public void close() {
        use(System.out);
    }
}
