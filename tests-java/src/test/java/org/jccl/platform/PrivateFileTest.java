package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

class PrivateFileTest {
    private static final byte[] CONTENT = {1, 2, 3};

    @TempDir private Path folder;
    private Path file;

    @BeforeEach
    void write() throws IOException {
        file = folder.resolve("secret");
        Files.write(file, CONTENT);
        mode("rw-------");
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-------", "r--------"})
    void readsWhatOnlyItsOwnerReads(String mode) throws IOException {
        mode(mode);
        assertArrayEquals(CONTENT, PrivateFile.read(file.toString(), 3));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rw----r--",
                "rw---x---",
                "rw-r-----",
                "rw--w----",
                "rw-----w-",
                "rwxrwxrwx"
            })
    void refusesWhatOthersMayReadOrWrite(String mode) throws IOException {
        mode(mode);
        assertRefused("chmod 600", 3);
    }

    @Test
    void refusesAFileThatIsTooLong() {
        assertRefused("more than 2 bytes", 2);
    }

    @Test
    void refusesWhatIsNoFile() throws IOException, InterruptedException {
        Files.delete(file);
        assertRefused("No such file", 3);
        Files.createDirectory(file);
        mode("rwx------");
        assertRefused("not a regular file", 3);
        Files.delete(file);
        // A pipe without a writer must not hold up the reader that opens it.
        assertEquals(0, new ProcessBuilder("mkfifo", "-m", "600", file + "").start().waitFor());
        assertRefused("not a regular file", 3);
    }

    @Test
    void refusesTheFileOfAnotherUser() throws IOException {
        boolean changed;
        try {
            Files.setAttribute(file, "unix:uid", 12345);
            changed = true;
        } catch (IOException onlyRootMay) {
            changed = false;
        }
        if (changed) {
            assertRefused("belongs to user 12345", 3);
        } else {
            // An ordinary user finds files of root.
            file = Path.of("/etc/passwd");
            assertRefused("belongs to user 0", 1 << 20);
        }
    }

    private void mode(String mode) throws IOException {
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
    }

    private void assertRefused(String why, int maxBytes) {
        NcclException refused =
                assertThrows(
                        NcclException.class, () -> PrivateFile.read(file.toString(), maxBytes));
        assertEquals(NcclResult.INVALID_USAGE, refused.result());
        assertTrue(refused.getMessage().contains(why), refused.getMessage());
        assertTrue(refused.getMessage().contains(file.toString()), refused.getMessage());
    }
}
