package org.jccl.log;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/**
 * The text that {@code ncclGetLastError} shows, one per process as in NCCL. C reads it in native
 * memory without a lock; the last byte is always NUL, so it never reads too far.
 */
public final class LastError {
    /** Size of the buffer with its NUL. */
    public static final int BYTES = 1024;

    // Written under this class's lock; read by C at any time, which may see a mixture of two texts.
    private static final MemorySegment BUFFER = Arena.global().allocate(BYTES);

    private LastError() {}

    /** Where the text lies, for the life of the process. */
    public static long address() {
        return BUFFER.address();
    }

    /** Replaces the text; a longer one is cut between two characters. */
    public static synchronized void set(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, BYTES - 1);
        while (length < bytes.length && (bytes[length] & 0xc0) == 0x80) {
            length--;
        }
        MemorySegment.copy(bytes, 0, BUFFER, ValueLayout.JAVA_BYTE, 0, length);
        BUFFER.asSlice(length).fill((byte) 0);
    }

    /** The text. */
    public static synchronized String get() {
        return BUFFER.getString(0);
    }
}
