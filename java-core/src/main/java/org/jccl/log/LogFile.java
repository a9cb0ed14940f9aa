package org.jccl.log;

import org.jspecify.annotations.Nullable;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.function.Consumer;

/**
 * The file of the log. A line that it accepts goes to the {@link LogWriter}: the file may be a pipe
 * that nobody reads, or lie on a machine that does not answer, so that even to open it may take for
 * ever.
 */
final class LogFile implements Consumer<byte[]> {
    private final @Nullable String name;

    // Used by the log's thread only.
    private @Nullable OutputStream opened;

    /** The file of that name, or standard output; it is opened before its first line is written. */
    LogFile(@Nullable String name) {
        this.name = name;
    }

    @Override
    public void accept(byte[] line) {
        LogWriter.put(this, line);
    }

    /** Writes a line; for the log's thread. */
    void writeNow(byte[] line) throws IOException {
        if (opened == null) {
            opened = open(name);
        }
        opened.write(line);
    }

    private static OutputStream open(@Nullable String file) {
        if (file == null || file.equals("/dev/stdout")) {
            return new FileOutputStream(FileDescriptor.out);
        }
        if (file.equals("/dev/stderr")) {
            return new FileOutputStream(FileDescriptor.err);
        }
        try {
            return new FileOutputStream(file);
        } catch (IOException refused) {
            LastError.set("NCCL_DEBUG_FILE: " + refused.getMessage());
            return new FileOutputStream(FileDescriptor.out);
        }
    }
}
