package org.jccl.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.platform.Memory;
import org.jccl.platform.ProcessIdentity;
import org.junit.jupiter.api.Test;

import java.util.concurrent.ThreadLocalRandom;

final class MappingTest {
    private static final int PID = ProcessIdentity.current().pid();

    private static byte[] nonce() {
        byte[] nonce = new byte[RegionLayout.NONCE_BYTES];
        ThreadLocalRandom.current().nextBytes(nonce);
        return nonce;
    }

    @Test
    void aProcessMapsARegionOnceUntilTheLastRankHasClosedIt() {
        byte[] nonce = nonce();
        Region own = Region.create(3, 1, nonce);
        Region mate = Region.open(3, 1, PID, own.descriptor(), nonce);
        Region other = Region.open(3, 1, PID, own.descriptor(), nonce);
        assertEquals(own.base(), mate.base());
        assertEquals(own.base(), other.base());
        own.close();
        own.close();
        mate.close();
        Memory.putLong(other.base() + RegionLayout.STATUS, 5);
        assertEquals(5, other.status());
        other.close();
    }

    @Test
    void ranksOfAProcessShareWhereTheSystemRefusesSharedMemory() {
        byte[] nonce = nonce();
        try (Region own = Region.create(2, 0, nonce);
                Region mate = Region.open(2, 0, PID, -1, nonce)) {
            assertEquals(own.base(), mate.base());
        }
    }
}
