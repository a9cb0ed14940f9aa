package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

class SharedMemoryTest {
    private static final int EPERM = 1;
    private static final int PID = ProcessIdentity.current().pid();

    @Test
    void isSeenThroughASecondMapping() {
        try (SharedMemory made = SharedMemory.create(10_000, 10_000);
                SharedMemory opened = SharedMemory.open(PID, made.fd(), 10_000)) {
            Memory.putLong(made.address() + 9_992, 0x1122334455667788L);
            assertEquals(0x1122334455667788L, Memory.getLong(opened.address() + 9_992));
            assertEquals(0, Memory.getLong(opened.address()));
        }
    }

    @Test
    void refusesToChangeItsSize() {
        try (SharedMemory made = SharedMemory.create(8_192, 8_192)) {
            assertEquals(-EPERM, truncate(made, 4_096));
            assertEquals(-EPERM, truncate(made, 16_384));
        }
    }

    @Test
    void refusesToMapMoreThanThereIs() {
        try (SharedMemory made = SharedMemory.create(4_096, 4_096)) {
            NcclException refused =
                    assertThrows(
                            NcclException.class,
                            () -> SharedMemory.open(PID, made.fd(), 4_097).close());
            assertEquals(NcclResult.SYSTEM_ERROR, refused.result());
            assertTrue(refused.toString().contains("4097"), refused.getMessage());
        }
    }

    @Test
    void namesProcessAndReasonWhenNothingIsThere() {
        NcclException refused =
                assertThrows(
                        NcclException.class, () -> SharedMemory.open(PID, 999_999, 64).close());
        assertTrue(refused.toString().contains("No such file"), refused.getMessage());
    }

    @Test
    void failsWithTheSizeWhenTheSystemHasNotGotThatMuch() {
        long much = 1L << 50;
        NcclException refused =
                assertThrows(
                        NcclException.class,
                        () -> SharedMemory.createTemporaryFile(much, much, "test").close());
        assertTrue(refused.toString().contains(Long.toString(much)), refused.getMessage());
    }

    @Test
    void worksWithoutMemfdAndLeavesNoName() throws Exception {
        long before = filesInShm();
        try (SharedMemory made = SharedMemory.createTemporaryFile(5_000, 5_000, "test");
                SharedMemory opened = SharedMemory.open(PID, made.fd(), 5_000)) {
            Memory.putInt(made.address() + 4_996, 7);
            assertEquals(7, Memory.getInt(opened.address() + 4_996));
            assertEquals(before, filesInShm());
        }
    }

    @Test
    void closesOnceWithoutTouchingAReusedDescriptor() throws IOException {
        SharedMemory first = SharedMemory.create(4_096, 4_096);
        first.close();
        try (SharedMemory second = SharedMemory.create(4_096, 4_096)) {
            first.close();
            Memory.putInt(second.address(), 5);
            assertEquals(4_096, Files.size(Path.of("/proc/self/fd/" + second.fd())));
        }
    }

    @Test
    void anonymousMemoryIsZeroed() {
        try (SharedMemory memory = SharedMemory.anonymous(1 << 20)) {
            assertEquals(-1, memory.fd());
            assertEquals(0, Memory.getLong(memory.address() + (1 << 20) - 8));
        }
    }

    private static long truncate(SharedMemory memory, long bytes) {
        return SystemCall.call(SystemCall.FTRUNCATE, memory.fd(), bytes);
    }

    private static long filesInShm() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/dev/shm"))) {
            return files.filter(each -> each.getFileName().toString().contains("jccl")).count();
        }
    }
}
