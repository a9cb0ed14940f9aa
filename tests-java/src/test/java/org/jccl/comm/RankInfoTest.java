package org.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.NcclConfig;
import org.junit.jupiter.api.Test;

/** What a rank tells the others about itself. */
final class RankInfoTest {
    @Test
    void hostsWithLongNamesAreToldApart() {
        String name = "a".repeat(100_000);
        RankInfo one = of(name);
        RankInfo same = of(name);
        RankInfo other = of(name + "b");
        assertEquals(one, RankInfo.decode(0, one.encode(), 0));
        assertTrue(one.mayShare(same));
        assertFalse(one.mayShare(other));
    }

    private static RankInfo of(String hostId) {
        return RankInfo.own(NcclConfig.DEFAULT.withHostId(hostId), null);
    }
}
