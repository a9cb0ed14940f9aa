package org.jccl.bootstrap;

import org.jccl.param.Params;
import org.jccl.platform.PrivateFile;
import org.jccl.type.InitError;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;

/** The secret that the ranks of a job share beforehand: JCCL_SECRET or JCCL_SECRET_FILE. */
final class JobSecret {
    /** An eavesdropper can try guesses at leisure: a shorter secret may be a word. */
    static final int MIN_BYTES = 16;

    static final int MAX_BYTES = 4096;

    private JobSecret() {}

    /**
     * The secret without blanks and ends of lines around it, or null if there is none.
     *
     * @throws NcclException with INVALID_USAGE if it cannot be used, saying what to do
     */
    static byte @Nullable [] read() {
        String text = Params.SECRET.text();
        String file = Params.SECRET_FILE.text();
        if (text != null && file != null) {
            throw InitError.SECRET_UNFIT.says(
                    "JCCL_SECRET and JCCL_SECRET_FILE are both set; set one of them");
        }
        if (file != null) {
            return checked("the secret in JCCL_SECRET_FILE", content(file));
        }
        return text == null ? null : checked("JCCL_SECRET", text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] content(String file) {
        try {
            return PrivateFile.read(file, MAX_BYTES);
        } catch (NcclException refused) {
            throw InitError.SECRET_UNFIT.says("JCCL_SECRET_FILE: %s", refused.getMessage());
        }
    }

    private static byte[] checked(String name, byte[] bytes) {
        // A character for each byte, whatever it is.
        String trimmed = new String(bytes, StandardCharsets.ISO_8859_1).trim();
        if (trimmed.length() < MIN_BYTES) {
            throw InitError.SECRET_UNFIT.says(
                    "%s has %s bytes, and needs %s at least: take a random one, as "
                            + "`openssl rand -hex 32` prints",
                    name, trimmed.length(), MIN_BYTES);
        }
        return trimmed.getBytes(StandardCharsets.ISO_8859_1);
    }
}
