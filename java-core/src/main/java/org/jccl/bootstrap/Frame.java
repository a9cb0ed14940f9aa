package org.jccl.bootstrap;

import org.jccl.type.NcclResult;
import org.jccl.type.Utf8;

import java.nio.ByteBuffer;

/**
 * Messages between a member and the root after the handshake: length of what follows (4), type (1),
 * content; big-endian.
 */
@SuppressWarnings("ByteBufferBackingArray")
final class Frame {
    static final int HEADER_BYTES = 4;

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
    static final int MAX_TEXT_BYTES = 900;

    private Frame() {}

    /** Whether a frame can have this length. */
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
        for (int i = 0; i < named; i++) {
            out.putInt(missing[i]);
        }
        return out.array();
    }

    static byte[] failed(NcclResult result, String text) {
        byte[] utf8 = Utf8.encode(text, MAX_TEXT_BYTES);
        return create(FAILED, 4 + utf8.length).putInt(result.code()).put(utf8).array();
    }

    static byte[] bye() {
        return create(BYE, 0).array();
    }

    private static ByteBuffer create(byte type, int contentBytes) {
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + 1 + contentBytes);
        return out.putInt(1 + contentBytes).put(type);
    }
}
