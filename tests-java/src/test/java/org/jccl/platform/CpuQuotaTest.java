package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Limits of control groups, read from files of this test's own. */
final class CpuQuotaTest {
    @TempDir Path directory;

    @Test
    void leastLimitOfAGroupAndThoseAboveItCounts() throws IOException {
        write("a/b/cpu.max", "max 100000");
        assertEquals(CpuQuota.NONE, quota("0::/a/b"));
        write("a/cpu.max", "150000 100000");
        assertEquals(2, quota("0::/a/b"));
        write("a/b/cpu.max", "1000 100000");
        assertEquals(1, quota("0::/a/b"));
        write("cpu.max", "400000 100000");
        assertEquals(4, quota("0::/of/another/container"));
    }

    @Test
    void limitsOfTheFirstVersionCount() throws IOException {
        write("cpu/a/cpu.cfs_quota_us", "-1");
        write("cpu/a/cpu.cfs_period_us", "100000");
        assertEquals(CpuQuota.NONE, quota("4:memory:/b\n3:cpuacct,cpu:/a\n0::/"));
        write("cpu/a/cpu.cfs_quota_us", "300000");
        assertEquals(3, quota("4:memory:/b\n3:cpuacct,cpu:/a\n0::/"));
        assertEquals(CpuQuota.NONE, quota("3:cpuset:/a"));
    }

    @Test
    void whatNobodyUnderstandsIsNoLimit() throws IOException {
        assertEquals(CpuQuota.NONE, CpuQuota.of(directory.resolve("none"), directory));
        for (String text : new String[] {"", "max", "x y", "5 0", "0 5", "9223372036854775807 1"}) {
            write("cpu.max", text);
            assertEquals(CpuQuota.NONE, quota("0::/"), text);
        }
        for (String group : new String[] {"", "0", "0:", "0::", "0::/../..", "0::a"}) {
            assertEquals(CpuQuota.NONE, quota(group), group);
        }
    }

    private int quota(String groups) throws IOException {
        write("groups", groups);
        return CpuQuota.of(directory.resolve("groups"), directory);
    }

    private void write(String file, String text) throws IOException {
        Path path = directory.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
