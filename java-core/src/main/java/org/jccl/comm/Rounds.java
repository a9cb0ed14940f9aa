package org.jccl.comm;

import org.jccl.bootstrap.Exchange;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.jccl.type.Utf8;
import org.jspecify.annotations.Nullable;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Rounds of an out-of-band exchange. In each a participant sends either a payload or the reason why
 * it gives up, so that all know of a failure and whose it is.
 */
final class Rounds {
    private static final int MAX_TEXT = 400;

    /** The exchange that carries the rounds. */
    final Exchange exchange;

    private byte[][] received = {};

    /** Rounds that this participant has begun. */
    int begun;

    /** Rounds whose result is there. */
    int finished;

    Rounds(Exchange exchange) {
        this.exchange = exchange;
    }

    void begin(byte[] payload) {
        exchange.begin(ByteBuffer.allocate(1 + payload.length).put((byte) 0).put(payload).array());
        begun++;
    }

    /**
     * This participant gives up.
     *
     * @return whether the rounds end with that
     */
    boolean giveUp(NcclException why) {
        if (exchange.giveUp(why)) {
            return true;
        }
        beginFailed(why);
        return false;
    }

    /** A round to which this participant contributes the reason why it gives up. */
    void beginFailed(NcclException why) {
        byte[] text = Utf8.encode(String.valueOf(why.getMessage()), MAX_TEXT);
        exchange.begin(
                ByteBuffer.allocate(2 + text.length)
                        .put((byte) 1)
                        .put((byte) why.result().code())
                        .put(text)
                        .array());
        begun++;
    }

    boolean advance() {
        if (!exchange.advance()) {
            return false;
        }
        received = exchange.result();
        finished++;
        return true;
    }

    /** Why this participant gave up, or null. */
    @Nullable NcclException failure(int participant) {
        byte[] blob = received[participant];
        if (blob.length >= 2 && blob[0] == 1) {
            int length = Math.min(blob.length - 2, MAX_TEXT);
            String text = Utf8.decode(Arrays.copyOfRange(blob, 2, 2 + length));
            return ErrorKind.PEER_GAVE_UP.says(NcclResult.ofFailure(blob[1]), text);
        }
        if (blob.length == 0 || blob[0] != 0) {
            return ErrorKind.NONSENSE.says(
                    "participant %s of init or split sent an unreadable message", participant);
        }
        return null;
    }

    /**
     * Ends the rounds of one that has given up, and of all who hear of it. A member's own reason
     * tells more than its word for another one's.
     *
     * @param members the participants that matter, by their numbers as members
     * @param self this one's number as a member
     * @param own why it has given up, or null
     */
    void throwIfAnyGaveUp(int[] members, int self, @Nullable NcclException own) {
        NcclException found = own;
        for (int q = 0; q < members.length; q++) {
            NcclException theirs = failure(members[q]);
            boolean says = found == null || found.result() == NcclResult.REMOTE_ERROR;
            if (q != self && theirs != null && says) {
                found =
                        ErrorKind.PEER_GAVE_UP.says(
                                theirs, "rank %s gave up: %s", q, theirs.getMessage());
            }
        }
        NcclException.throwIfAny(found);
    }

    /**
     * The payload that the participant sent.
     *
     * @throws NcclException if it gave up, or its message is unreadable
     */
    byte[] payload(int participant) {
        NcclException.throwIfAny(failure(participant));
        byte[] blob = received[participant];
        return Arrays.copyOfRange(blob, 1, blob.length);
    }
}
