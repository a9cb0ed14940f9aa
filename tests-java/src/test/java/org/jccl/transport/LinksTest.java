package org.jccl.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.jccl.platform.ProcessIdentity;
import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;

/** Which ranks of one process a rank has to look at. */
final class LinksTest {
    private static final int PID = ProcessIdentity.current().pid();
    private static final int RANKS = 3;
    private static final byte[] ONE = {1};
    private static final byte[] ANOTHER = {2};
    private static final int[] NOBODY = {};

    private static byte[] nonce(int rank) {
        return ByteBuffer.allocate(RegionLayout.NONCE_BYTES).putInt(rank).array();
    }

    private static Mate own(int rank) {
        return new Mate(Region.create(RANKS, rank, nonce(rank)), null, PID);
    }

    private static Mate mate(int rank) {
        return new Mate(Region.open(RANKS, rank, PID, -1, nonce(rank)), null, PID);
    }

    private static Links links(int rank, byte[] commId) {
        Peer[] peers = {mate(0), mate(1), mate(2)};
        return new Links(rank, peers, commId, RegionLayout.limits(1), true);
    }

    /** Those of the rank that comes first, which makes the regions. */
    private static Links first(int rank, byte[] commId) {
        Peer[] peers = {own(0), own(1), own(2)};
        return new Links(rank, peers, commId, RegionLayout.limits(1), true);
    }

    @Test
    void aStatusIsSeenByTheRanksOfItsCommunicatorOnly() {
        try (Links zero = first(0, ONE);
                Links two = links(2, ONE.clone());
                Links elsewhere = links(2, ANOTHER)) {
            assertArrayEquals(NOBODY, two.watched());
            assertArrayEquals(NOBODY, elsewhere.watched());
            zero.publishStatus(Region.LEFT, 0, "rank 0 has left");
            assertArrayEquals(new int[] {0}, two.watched());
            assertArrayEquals(NOBODY, elsewhere.watched());
            assertArrayEquals(NOBODY, zero.watched());
        }
    }

    @Test
    void aStatusIsSeenAlthoughAnotherHasClosedTwice() {
        try (Links two = first(2, ONE)) {
            assertArrayEquals(NOBODY, two.watched());
            Links zero = links(0, ONE);
            zero.close();
            zero.close();
            try (Links again = links(0, ONE)) {
                again.publishStatus(Region.LEFT, 0, "rank 0 has left");
            }
            assertArrayEquals(new int[] {0}, two.watched());
        }
    }
}
