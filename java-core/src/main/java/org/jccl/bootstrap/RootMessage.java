package org.jccl.bootstrap;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Utf8;

import java.nio.ByteBuffer;

/**
 * The messages of a member and its root to each other after the handshake: length of what follows
 * (4), type (1), content; big-endian.
 */
@SuppressWarnings("ByteBufferBackingArray")
final class RootMessage {
    static final int HEADER_BYTES = 4;

    /** Nobody sends this: it stands for what cannot be a message. */
    static final byte NONSENSE = 0;

    /** Member to root: round, bytes. */
    static final byte BLOB = 1;

    /** Root to member: round, rank, 1 if that rank lives in the root's process, bytes. */
    static final byte RESULT = 2;

    /** Root to member: round, rank in the root's process or -1, missing ranks. */
    static final byte WAITING = 3;

    /** Root to member, or from a member that gives up: result code, text. */
    static final byte FAILED = 4;

    /** Member to root: leaves in good order. */
    static final byte BYE = 5;

    static final int MAX_NAMED_MISSING = 64;
    private static final int MAX_LENGTH = Exchange.MAX_BLOB_BYTES + 64;
    private static final int MAX_TEXT_BYTES = 900;

    private RootMessage() {}

    /** Whether a message can have this length. */
    static boolean isPossibleLength(int length) {
        return length >= 1 && length <= MAX_LENGTH;
    }

    static byte[] blob(int round, byte[] bytes) {
        return create(BLOB, 4 + bytes.length).putInt(round).put(bytes).array();
    }

    static byte[] result(int round, int rank, boolean inRootProcess, byte[] bytes) {
        ByteBuffer out = create(RESULT, 9 + bytes.length).putInt(round).putInt(rank);
        return out.put((byte) (inRootProcess ? 1 : 0)).put(bytes).array();
    }

    static byte[] waiting(int round, int rankOfRoot, int[] missing) {
        int named = Math.min(missing.length, MAX_NAMED_MISSING);
        ByteBuffer out = create(WAITING, 8 + 4 * named).putInt(round).putInt(rankOfRoot);
        out.asIntBuffer().put(missing, 0, named);
        return out.array();
    }

    static byte[] failed(NcclException why) {
        byte[] utf8 = Utf8.encode(String.valueOf(why.getMessage()), MAX_TEXT_BYTES);
        return create(FAILED, 4 + utf8.length).putInt(why.result().code()).put(utf8).array();
    }

    /** The failure that a message of the type FAILED, with a result code at least, tells of. */
    static NcclException readFailure(ByteBuffer content) {
        NcclResult result = NcclResult.ofFailure(content.getInt());
        content.limit(Math.min(content.limit(), content.position() + MAX_TEXT_BYTES));
        return ErrorKind.RENDEZVOUS_FAILED.says(result, Utf8.decode(rest(content)));
    }

    /** The bytes of a message that have not been read. */
    static byte[] rest(ByteBuffer content) {
        byte[] bytes = new byte[content.remaining()];
        content.get(bytes);
        return bytes;
    }

    static byte[] bye() {
        return create(BYE, 0).array();
    }

    private static ByteBuffer create(byte type, int contentBytes) {
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + 1 + contentBytes);
        return out.putInt(1 + contentBytes).put(type);
    }
}
