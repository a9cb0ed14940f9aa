package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files that hold secrets: the user who runs the process owns them, and nobody else reads them. */
public final class PrivateFile {
    private static final int OTHERS = 077;

    private PrivateFile() {}

    /**
     * The content of a file. The checks concern the file that was opened, whatever becomes of its
     * name meanwhile.
     *
     * @throws NcclException with INVALID_USAGE and what to do if it cannot be read, is no regular
     *     file, belongs to another user, can be read or written by others, or is longer
     */
    public static byte[] read(String path, int maxBytes) {
        int fd = Descriptors.open(path, Descriptors.NONBLOCK);
        if (fd < 0) {
            throw ErrorKind.SECRET_UNFIT.says("cannot read %s: %s", path, Errno.text(-fd));
        }
        Path opened = Path.of("/proc/self/fd/" + fd);
        try {
            check(path, opened);
            try (InputStream in = Files.newInputStream(opened)) {
                byte[] content = in.readNBytes(maxBytes + 1);
                if (content.length > maxBytes) {
                    throw ErrorKind.SECRET_UNFIT.says("%s has more than %s bytes", path, maxBytes);
                }
                return content;
            }
        } catch (IOException refused) {
            throw ErrorKind.SECRET_UNFIT.because(refused, "cannot read %s: %s", path, refused);
        } finally {
            Descriptors.close(fd);
        }
    }

    private static void check(String path, Path opened) throws IOException {
        int mode = (int) Files.getAttribute(opened, "unix:mode");
        long owner = Integer.toUnsignedLong((int) Files.getAttribute(opened, "unix:uid"));
        long user = SystemCall.call(SystemCall.GETEUID, 0);
        if (!Files.isRegularFile(opened)) {
            throw ErrorKind.SECRET_UNFIT.says("%s is not a regular file", path);
        }
        if (owner != user) {
            throw ErrorKind.SECRET_UNFIT.says(
                    "%s belongs to user %s, not to user %s, who reads it", path, owner, user);
        }
        if ((mode & OTHERS) != 0) {
            throw ErrorKind.SECRET_UNFIT.says(
                    "other users may read or write %s (mode %s): chmod 600 it, and change "
                            + "the secret in it",
                    path, "%04o".formatted(mode & 07777));
        }
    }
}
