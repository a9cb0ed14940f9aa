package org.jccl.type;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.platform.Memory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What becomes of failures that nobody foresaw. */
final class UnforeseenTest {
    private static final long BYTES = 1 << 20;

    @Test
    void bufferWhoseFileHasBecomeShorterIsTheUsersError(@TempDir Path directory)
            throws IOException {
        try (Arena arena = Arena.ofConfined();
                FileChannel file =
                        FileChannel.open(
                                directory.resolve("buffer"),
                                StandardOpenOption.CREATE,
                                StandardOpenOption.READ,
                                StandardOpenOption.WRITE)) {
            MemorySegment buffer = file.map(MapMode.READ_WRITE, 0, BYTES, arena);
            file.truncate(0);
            InternalError none =
                    assertThrows(InternalError.class, () -> Memory.getLong(buffer.address()));
            NcclException told = Unforeseen.of(none, "in a call");
            assertEquals(ErrorKind.BUFFER_UNREADABLE, told.kind());
            assertTrue(told.getMessage().contains("a part of a buffer has no memory"));
        }
    }
}
