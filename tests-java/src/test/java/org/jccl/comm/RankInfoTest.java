package org.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.platform.CpuQuota;
import org.jccl.platform.SocketAddress;
import org.jccl.type.NcclConfig;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

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

    @Test
    void ranksOfAProcessNeedADeviceEachWhereStreamsShareQueues() {
        RankInfo[] infos = {
            using("one", 4711, "cuda:0"),
            using("one", 4711, "cuda:1"),
            using("one", 4712, "cuda:0"),
            using("one", 4711, ""),
            using("one", 4711, ""),
            using("one", 4711, 8, "cuda:0"),
            using("two", 4711, "cuda:0")
        };
        RankInfo.requireOwnDevices(Arrays.copyOf(infos, 6));
        infos[6] = RankInfo.decode(6, infos[6].encode(), 0);
        NcclException refused =
                assertThrows(NcclException.class, () -> RankInfo.requireOwnDevices(infos));
        assertEquals(NcclResult.INVALID_USAGE, refused.result());
        assertTrue(
                refused.getMessage().contains("ranks 0 and 6, both of process 4711, use cuda:0, "));
    }

    @Test
    void ranksHaveACoreEachWithinTheirContainersQuota() {
        assertTrue(RankInfo.haveCores(List.of(on(0, 2), on(1, CpuQuota.NONE))));
        assertFalse(RankInfo.haveCores(List.of(on(0, 2), on(1, 1))));
        assertFalse(RankInfo.haveCores(List.of(on(0, 2), on(0, 2))));
        assertFalse(RankInfo.haveCores(List.of(on(0, 2), on(1, 2), on(2, 2))));
    }

    private static RankInfo on(int core, int quota) {
        SocketAddress where = SocketAddress.parse("10.0.0.1:4000");
        BitSet cores = BitSet.valueOf(new long[] {1L << core});
        return new RankInfo("one", 4711, 99, 7, where, cores, quota, true, true, "", "a=1");
    }

    private static RankInfo of(String hostId) {
        return RankInfo.own(NcclConfig.DEFAULT.withHostId(hostId), null);
    }

    private static RankInfo using(String hostId, int pid, String device) {
        return using(hostId, pid, 7, device);
    }

    private static RankInfo using(String hostId, int pid, long nonce, String device) {
        SocketAddress where = SocketAddress.parse("10.0.0.1:4000");
        return new RankInfo(
                hostId,
                pid,
                99,
                nonce,
                where,
                BitSet.valueOf(new long[] {1}),
                CpuQuota.NONE,
                true,
                true,
                device,
                "a=1");
    }
}
