package org.jccl.bootstrap;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Arrays;

/**
 * HMAC-SHA256 (RFC 2104): makes proofs, and keys from keys. It uses the digest alone: the first
 * {@code javax.crypto.Mac} of a process starts every provider of cryptography and reads its
 * policies, which takes a fifth of the time of an init.
 */
public final class Keys {
    /** Size of a key, a nonce and a proof. */
    public static final int BYTES = 32;

    private static final String DIGEST = "SHA-256";
    private static final int BLOCK_BYTES = 64;
    private static final byte INNER = 0x36;
    private static final byte OUTER = 0x5c;
    private static final SecureRandom RANDOM = new SecureRandom();

    private Keys() {}

    /**
     * A key for one purpose, or a proof. It tells nothing about {@code key}, or about what is made
     * with other labels and contexts. The lengths of all parts are bound in, so that parts cannot
     * be shifted.
     */
    public static byte[] derive(byte[] key, String label, byte[]... context) {
        MessageDigest digest = digest();
        byte[] block =
                Arrays.copyOf(key.length > BLOCK_BYTES ? digest.digest(key) : key, BLOCK_BYTES);
        digest.update(masked(block, INNER));
        update(digest, label.getBytes(StandardCharsets.UTF_8));
        for (byte[] part : context) {
            update(digest, part);
        }
        byte[] inside = digest.digest();
        digest.update(masked(block, OUTER));
        return digest.digest(inside);
    }

    private static void update(MessageDigest digest, byte[] part) {
        digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(part.length).array());
        digest.update(part);
    }

    /** Fresh random bytes. */
    public static byte[] random(int bytes) {
        byte[] fresh = new byte[bytes];
        RANDOM.nextBytes(fresh);
        return fresh;
    }

    private static MessageDigest digest() {
        try {
            return MessageDigest.getInstance(DIGEST);
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException("this Java has no " + DIGEST, missing);
        }
    }

    private static byte[] masked(byte[] block, byte mask) {
        byte[] masked = new byte[BLOCK_BYTES];
        for (int i = 0; i < BLOCK_BYTES; i++) {
            masked[i] = (byte) (block[i] ^ mask);
        }
        return masked;
    }

    /** Compares in a time that does not depend on the content. */
    static boolean same(byte[] one, byte[] other) {
        return MessageDigest.isEqual(one, other);
    }
}
