package org.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.bootstrap.Exchange;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;

/** How a participant of init or split understands the others' messages. */
final class RoundsTest {
    /** An exchange in which the others send what the test says. */
    private static final class Said implements Exchange {
        private final byte[][] messages;

        Said(byte[]... messages) {
            this.messages = messages;
        }

        @Override
        public void begin(byte[] mine) {
            messages[0] = mine;
        }

        @Override
        public boolean advance() {
            return true;
        }

        @Override
        public byte[][] result() {
            return messages;
        }
    }

    private static Rounds heard(byte[]... others) {
        byte[][] all = new byte[1 + others.length][];
        System.arraycopy(others, 0, all, 1, others.length);
        Rounds rounds = new Rounds(new Said(all));
        rounds.begin(new byte[] {42});
        rounds.advance();
        return rounds;
    }

    private static byte[] failed(int code, String text) {
        byte[] bytes = ("\1" + (char) code + text).getBytes(StandardCharsets.ISO_8859_1);
        assertEquals(2 + text.length(), bytes.length);
        return bytes;
    }

    @Test
    void payloadIsWhatWasSent() {
        assertArrayEquals(new byte[] {42}, heard().payload(0));
        assertArrayEquals(new byte[] {}, heard(new byte[] {0}).payload(1));
    }

    @Test
    void reasonIsToldWithItsCode() {
        Rounds rounds = new Rounds(new Said(new byte[1][]));
        rounds.giveUp(ErrorKind.SPLIT_COLOR.says("no such colour"));
        rounds.advance();
        NcclException why = rounds.failure(0);
        assertNotNull(why);
        assertEquals("no such colour", why.getMessage());
        assertEquals(NcclResult.INVALID_ARGUMENT, why.result());
    }

    @Test
    void failureIsNeverASuccess() {
        for (int code : new int[] {0, 7}) {
            NcclException why = heard(failed(code, "what")).failure(1);
            assertNotNull(why);
            assertEquals(NcclResult.REMOTE_ERROR, why.result());
        }
        NcclException unknown = heard(failed(0xf0, "what")).failure(1);
        assertNotNull(unknown);
        assertEquals(NcclResult.INTERNAL_ERROR, unknown.result());
    }

    @Test
    void messageThatIsNoneNamesItsSender() {
        for (byte[] message : new byte[][] {{}, {1}, {2}, {-1, 3}}) {
            NcclException why = heard(new byte[] {0}, message).failure(2);
            assertNotNull(why);
            assertEquals(ErrorKind.NONSENSE, why.kind());
            assertEquals(
                    "participant 2 of init or split sent an unreadable message", why.getMessage());
            assertThrows(NcclException.class, () -> heard(new byte[] {0}, message).payload(2));
        }
    }
}
