package org.jccl.bootstrap;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;

import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** HMAC-SHA256: proofs, and keys made from keys. */
public final class Keys {
    /** Size of a key, a nonce and a proof. */
    public static final int BYTES = 32;

    private static final String ALGORITHM = "HmacSHA256";
    private static final SecureRandom RANDOM = new SecureRandom();

    private Keys() {}

    /**
     * A key for one purpose: whoever knows it learns nothing about {@code key} or about the keys of
     * other labels and contexts.
     */
    public static byte[] derive(byte[] key, String label, byte[]... context) {
        byte[][] parts = new byte[context.length + 1][];
        parts[0] = label.getBytes(StandardCharsets.UTF_8);
        System.arraycopy(context, 0, parts, 1, context.length);
        return authenticate(key, parts);
    }

    /** Fresh random bytes. */
    public static byte[] random(int bytes) {
        byte[] fresh = new byte[bytes];
        RANDOM.nextBytes(fresh);
        return fresh;
    }

    /** A proof over the parts; their lengths are bound in, so that parts cannot be shifted. */
    static byte[] authenticate(byte[] key, byte[]... parts) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(key, ALGORITHM));
            for (byte[] part : parts) {
                mac.update(ByteBuffer.allocate(Integer.BYTES).putInt(part.length).array());
                mac.update(part);
            }
            return mac.doFinal();
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("this Java has no " + ALGORITHM, missing);
        }
    }

    /** Compares in a time that does not depend on the content. */
    static boolean same(byte[] one, byte[] other) {
        return MessageDigest.isEqual(one, other);
    }
}
