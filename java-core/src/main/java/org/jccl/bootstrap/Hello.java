package org.jccl.bootstrap;

import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The first message of a connection and the proofs bound to it. Three messages, all of fixed size:
 *
 * <ol>
 *   <li>connector: magic (8), kind (1), zeros (3), from (4), to (4), number (16), nonce (32);
 *   <li>listener: verdict (1), zeros (3), nonce (32), proof over label, hello and nonce (32);
 *   <li>connector: payload, proof over label, hello, nonce and payload (32);
 * </ol>
 *
 * and {@link #ACCEPTED} when the listener is content. Both nonces are fresh, and each proof covers
 * both, so that nothing recorded can be used again. The labels differ, so that the proof of one
 * side is no proof of the other.
 *
 * @param number names the secret that both sides must hold; is no secret itself
 */
@SuppressWarnings("ArrayRecordComponent")
record Hello(int kind, int from, int to, byte[] number, byte[] nonce) {
    static final int RENDEZVOUS = 1;
    static final int LINK = 2;
    static final int BYTES = 68;
    static final int REPLY_BYTES = 68;
    static final byte CHALLENGE = 1;
    static final byte UNKNOWN = 2;
    static final byte[] ACCEPTED = {'J', 'C', 'O', 'K'};
    private static final byte[] MAGIC = {'J', 'C', 'C', 'L', 'n', 'e', 't', 1};
    private static final String LISTENER = "jccl listener";
    private static final String CONNECTOR = "jccl connector";

    static Hello create(int kind, int from, int to, byte[] number) {
        return new Hello(kind, from, to, number, Keys.random(Keys.BYTES));
    }

    /** The same hello for another connection, with a fresh nonce. */
    Hello again() {
        return create(kind, from, to, number);
    }

    /** Whether these first bytes may become a hello. */
    static boolean mayBegin(byte[] bytes) {
        int known = Math.min(bytes.length, MAGIC.length);
        return Arrays.equals(bytes, 0, known, MAGIC, 0, known);
    }

    /** The hello in exactly {@link #BYTES} bytes, or null if it is none. */
    static @Nullable Hello decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        byte[] magic = new byte[MAGIC.length];
        in.get(magic);
        int kindAndZeros = in.getInt();
        int kind = kindAndZeros >>> 24;
        boolean sound = (kindAndZeros << 8) == 0 && (kind == RENDEZVOUS || kind == LINK);
        if (!sound || !Arrays.equals(magic, MAGIC)) {
            return null;
        }
        int from = in.getInt();
        int to = in.getInt();
        byte[] number = new byte[IdContent.NUMBER_BYTES];
        byte[] nonce = new byte[Keys.BYTES];
        in.get(number).get(nonce);
        return from < 0 || to < 0 ? null : new Hello(kind, from, to, number, nonce);
    }

    byte[] encode() {
        ByteBuffer out = ByteBuffer.allocate(BYTES);
        out.put(MAGIC).putInt(kind << 24).putInt(from).putInt(to).put(number).put(nonce);
        return out.array();
    }

    /** The listener's answer: its own nonce, and the proof that it holds the key. */
    byte[] challenge(byte[] key, byte[] listenerNonce) {
        ByteBuffer out = ByteBuffer.allocate(REPLY_BYTES);
        out.put(CHALLENGE).put(new byte[3]).put(listenerNonce);
        return out.put(Keys.derive(key, LISTENER, encode(), listenerNonce)).array();
    }

    /** The listener's answer when it does not know the number. */
    static byte[] unknown() {
        byte[] reply = new byte[REPLY_BYTES];
        reply[0] = UNKNOWN;
        return reply;
    }

    /** The listener's nonce from its answer, or null if its proof is wrong. */
    byte @Nullable [] verifyChallenge(byte[] key, byte[] reply) {
        byte[] listenerNonce = Arrays.copyOfRange(reply, 4, 4 + Keys.BYTES);
        return Keys.same(reply, challenge(key, listenerNonce)) ? listenerNonce : null;
    }

    /** The connector's last message: payload and proof. */
    byte[] proof(byte[] key, byte[] listenerNonce, byte[] payload) {
        byte[] proof = Keys.derive(key, CONNECTOR, encode(), listenerNonce, payload);
        return ByteBuffer.allocate(payload.length + proof.length).put(payload).put(proof).array();
    }

    /** The payload of the connector's last message, or null if its proof is wrong. */
    byte @Nullable [] verifyProof(byte[] key, byte[] listenerNonce, byte[] message) {
        byte[] payload = Arrays.copyOf(message, message.length - Keys.BYTES);
        return Keys.same(message, proof(key, listenerNonce, payload)) ? payload : null;
    }
}
