package org.jccl.bootstrap;

import org.jccl.log.Log;
import org.jccl.param.Params;
import org.jccl.platform.HostAddress;
import org.jccl.platform.PrivateFile;
import org.jccl.platform.SocketAddress;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * NCCL_COMM_ID, or MASTER_ADDR and MASTER_PORT: rank 0 opens the root at a known address, and all
 * ranks find it there, so that ids need not be handed on. Such ids hold no secret: the ranks take
 * it from their environment.
 */
final class CommId {
    /** In place of the random number of a rendezvous. */
    private static final byte[] NUMBER = "at NCCL_COMM_ID.".getBytes(StandardCharsets.US_ASCII);

    private static final byte[] NO_SECRET = new byte[Keys.BYTES];

    /** An eavesdropper can try guesses at leisure: a shorter secret may be a word. */
    private static final int MIN_SECRET_BYTES = 16;

    private static final int MAX_SECRET_BYTES = 4096;

    // Set once by whichever thread warns first.
    private static final AtomicBoolean WARNED = new AtomicBoolean();

    private CommId() {}

    /**
     * The id that means the root at the address that the variable names, or null if it is not set.
     *
     * @throws NcclException with INVALID_ARGUMENT if it names none
     */
    static @Nullable IdContent id() {
        String text = Params.COMM_ID.text();
        if (text == null) {
            return null;
        }
        try {
            SocketAddress address = HostAddress.parse(text, Params.SOCKET_FAMILY.text());
            if (address.isOfOneMachine()) {
                return open(address);
            }
            throw ErrorKind.ADDRESS_INVALID.says("%s is the address of no single machine", address);
        } catch (NcclException refused) {
            throw ErrorKind.ADDRESS_INVALID.says(
                    "NCCL_COMM_ID: %s; write the address of rank 0's machine and a free "
                            + "port there, as in 10.0.0.1:4000, [fd00::1]:4000 or host:4000",
                    refused.getMessage());
        }
    }

    /** An id, without a secret, that means the root at this address. */
    static IdContent open(SocketAddress root) {
        return new IdContent(root, NUMBER.clone(), NO_SECRET.clone());
    }

    /** Whether an id means a root at a known address. */
    static boolean isOne(IdContent id) {
        return Arrays.equals(id.number(), NUMBER);
    }

    /**
     * The same id, with the secret of this process's environment if it means a root at a known
     * address.
     *
     * @throws NcclException with INVALID_USAGE if there is none and the address needs one, or if it
     *     cannot be used
     */
    static IdContent withSecret(IdContent id) {
        if (!isOne(id)) {
            return id;
        }
        byte[] secret = secret();
        if (secret != null) {
            byte[] key = Keys.derive(secret, "NCCL_COMM_ID");
            return new IdContent(id.root(), id.number(), key);
        }
        if (!id.root().isLoopback()) {
            throw ErrorKind.SECRET_MISSING.says(
                    "the ranks meet at %s, where anybody could join: set JCCL_SECRET, or "
                            + "JCCL_SECRET_FILE to a file of mode 0600, to the same secret on all "
                            + "ranks (`openssl rand -hex 32` makes one); without one only loopback "
                            + "addresses are allowed",
                    id.root());
        }
        if (WARNED.compareAndSet(false, true)) {
            Log.warn(
                    ErrorKind.SECRET_NOT_SET.says(
                            "the ranks meet without JCCL_SECRET or JCCL_SECRET_FILE: every "
                                    + "user of this machine can join at %s",
                            id.root()));
        }
        return id;
    }

    /**
     * JCCL_SECRET, or the content of JCCL_SECRET_FILE, without blanks and ends of lines around it;
     * null if neither is set.
     */
    private static byte @Nullable [] secret() {
        String text = Params.SECRET.text();
        String file = Params.SECRET_FILE.text();
        if (text != null && file != null) {
            throw ErrorKind.SECRET_UNFIT.says(
                    "JCCL_SECRET and JCCL_SECRET_FILE are both set; set one of them");
        }
        if (file != null) {
            return checked("the secret in JCCL_SECRET_FILE", content(file));
        }
        return text == null ? null : checked("JCCL_SECRET", text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] content(String file) {
        try {
            return PrivateFile.read(file, MAX_SECRET_BYTES);
        } catch (NcclException refused) {
            throw ErrorKind.SECRET_UNFIT.says("JCCL_SECRET_FILE: %s", refused.getMessage());
        }
    }

    private static byte[] checked(String name, byte[] bytes) {
        // A character for each byte, whatever it is.
        String trimmed = new String(bytes, StandardCharsets.ISO_8859_1).trim();
        if (trimmed.length() < MIN_SECRET_BYTES) {
            throw ErrorKind.SECRET_UNFIT.says(
                    "%s has %s bytes, and needs %s at least: take a random one, as "
                            + "`openssl rand -hex 32` prints",
                    name, trimmed.length(), MIN_SECRET_BYTES);
        }
        return trimmed.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** A failure to connect, with its likely cause if a process has answered at the address. */
    static NcclException explain(NcclException refused) {
        if (refused.result() != NcclResult.REMOTE_ERROR) {
            return refused;
        }
        return refused.kind()
                .says(
                        refused,
                        "%s; the known address (NCCL_COMM_ID, or MASTER_ADDR and MASTER_PORT), and "
                                + "JCCL_SECRET or the content of JCCL_SECRET_FILE, must be the "
                                + "same on all ranks, and those of no other job",
                        refused.getMessage());
    }
}
