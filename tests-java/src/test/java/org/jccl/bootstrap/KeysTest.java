package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Random;

import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class KeysTest {
    private static final int LONGEST_KEY_BYTES = 150;

    @Test
    void a_proof_is_the_hmac_sha256_of_the_parts_with_their_lengths_for_keys_of_every_length()
            throws GeneralSecurityException {
        Random random = new Random(1);
        for (int length = 1; length <= LONGEST_KEY_BYTES; length++) {
            byte[] key = bytes(random, length);
            String label = "x".repeat(random.nextInt(10));
            byte[][] parts = new byte[random.nextInt(4)][];
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            add(all, label.getBytes(StandardCharsets.UTF_8));
            for (int i = 0; i < parts.length; i++) {
                parts[i] = bytes(random, random.nextInt(100));
                add(all, parts[i]);
            }
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            assertArrayEquals(
                    mac.doFinal(all.toByteArray()),
                    Keys.derive(key, label, parts),
                    () -> "with a key of " + key.length + " bytes");
        }
    }

    private static void add(ByteArrayOutputStream all, byte[] part) {
        all.writeBytes(ByteBuffer.allocate(4).putInt(part.length).array());
        all.writeBytes(part);
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }
}
