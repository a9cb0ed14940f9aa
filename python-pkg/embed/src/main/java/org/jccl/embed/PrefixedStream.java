package org.jccl.embed;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Passes whole lines on, each after a prefix, so that lines of several ranks do not mix. */
public final class PrefixedStream extends OutputStream {
    private final OutputStream to;
    private final byte[] prefix;

    /** The line that has begun; threads of the rank write (guarded by this). */
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();

    PrefixedStream(OutputStream to, String prefix) {
        this.to = to;
        this.prefix = prefix.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public synchronized void write(int b) throws IOException {
        line.write(b);
        if (b == '\n') {
            pass();
        }
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
        for (int i = offset; i < offset + length; i++) {
            write(bytes[i]);
        }
    }

    /** Writes text, for Python. */
    public void text(String text) throws IOException {
        write(text.getBytes(StandardCharsets.UTF_8));
    }

    private void pass() throws IOException {
        ByteArrayOutputStream whole = new ByteArrayOutputStream(prefix.length + line.size());
        whole.writeBytes(prefix);
        line.writeTo(whole);
        line.reset();
        synchronized (to) {
            to.write(whole.toByteArray());
            to.flush();
        }
    }

    /** Completes a line that has begun. */
    @Override
    public synchronized void close() throws IOException {
        if (line.size() > 0) {
            write('\n');
        }
    }

    /** Completes the last lines of streams. */
    static void closeAll(List<PrefixedStream> streams) {
        try {
            for (PrefixedStream stream : streams) {
                stream.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
