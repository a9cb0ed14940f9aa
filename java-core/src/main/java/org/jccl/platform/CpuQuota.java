package org.jccl.platform;

import java.nio.file.Path;

/** How many cores the process's control groups let it use at a time, as containers limit them. */
public final class CpuQuota {
    /** No limit. */
    public static final int NONE = Integer.MAX_VALUE;

    private CpuQuota() {}

    /**
     * The least limit of the process's control groups, rounded up, at least 1; {@link #NONE} if
     * there is none, or the system does not tell. All processes of these groups share it.
     */
    public static int current() {
        return of(Path.of("/proc/self/cgroup"), Path.of("/sys/fs/cgroup"));
    }

    /** The same from a list of groups and the directory of all groups. */
    static int of(Path groups, Path root) {
        int least = NONE;
        for (String line : read(groups).split("\n", -1)) {
            // Hierarchy, controllers, path; version 2 names no controllers.
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[2].startsWith("/")) {
                boolean second = parts[1].isEmpty();
                if (second || ("," + parts[1] + ",").contains(",cpu,")) {
                    Path top = second ? root : root.resolve("cpu");
                    least = Math.min(least, ofGroup(top, parts[2], second));
                }
            }
        }
        return least;
    }

    /** That of a group and those above it; a container may not see all of them. */
    private static int ofGroup(Path top, String path, boolean second) {
        int least = NONE;
        Path group = top.resolve(path.substring(1)).normalize();
        while (group != null && group.startsWith(top)) {
            least = Math.min(least, second ? second(group) : first(group));
            group = group.getParent();
        }
        return least;
    }

    private static int second(Path group) {
        String[] words = read(group.resolve("cpu.max")).split(" ", 2);
        return words.length < 2 ? NONE : cores(words[0], words[1]);
    }

    private static int first(Path group) {
        return cores(
                read(group.resolve("cpu.cfs_quota_us")), read(group.resolve("cpu.cfs_period_us")));
    }

    private static String read(Path file) {
        return ProcessIdentity.read(file.toString(), "");
    }

    /** Both in microseconds; a quota that is no positive number is none. */
    private static int cores(String quota, String period) {
        try {
            long used = Long.parseLong(quota);
            long of = Long.parseLong(period);
            return used <= 0 || of <= 0 ? NONE : (int) Math.min(NONE, Math.ceilDiv(used, of));
        } catch (NumberFormatException none) {
            return NONE;
        }
    }
}
