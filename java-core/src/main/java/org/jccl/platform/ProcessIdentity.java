package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Which process this is, and on which machine.
 *
 * @param pid its number in its own namespace
 * @param startTime when it started, in clock ticks since boot: tells two uses of one number apart
 * @param hostName the machine's name
 * @param bootId one random text per boot of a kernel
 */
public record ProcessIdentity(int pid, long startTime, String hostName, String bootId) {
    private static final int START_TIME_FIELD = 22;

    // Written once by any thread; the record is immutable, so a race makes two equal ones. What
    // could not be read for want of descriptors is read again next time.
    private static @Nullable ProcessIdentity current;

    /** This process. */
    public static ProcessIdentity current() {
        ProcessIdentity known = current;
        if (known == null) {
            int pid = (int) ProcessHandle.current().pid();
            known =
                    new ProcessIdentity(
                            pid,
                            startTimeIn(read("/proc/self/stat", "")),
                            read("/proc/sys/kernel/hostname", "localhost"),
                            read("/proc/sys/kernel/random/boot_id", ""));
            if (!known.bootId.isEmpty() && known.startTime > 0) {
                current = known;
            }
        }
        return known;
    }

    /**
     * Opens the system's report on a process of this machine: its descriptor, or -1 if there is no
     * such process.
     *
     * @throws NcclException SYSTEM_ERROR if the system refuses
     */
    static int openStatus(int pid) {
        String path = "/proc/" + pid + "/stat";
        int fd = Descriptors.open(path, 0);
        if (fd < 0 && fd != -Errno.ENOENT && fd != -Errno.ESRCH) {
            throw ErrorKind.SYSTEM_CALL.says("cannot read %s: %s", path, Errno.text(-fd));
        }
        return Math.max(-1, fd);
    }

    /** The start time in such a report, or 0 if the process has ended. */
    static long startTimeIn(int status) {
        long text = CallState.current().status;
        long read = SystemCall.call(SystemCall.READ, status, text, CallState.STATUS_BYTES - 1);
        if (read <= 0) {
            return 0;
        }
        Memory.putByte(text + read, (byte) 0);
        return startTimeIn(Memory.string(text));
    }

    private static long startTimeIn(String stat) {
        // The second field is a name in parentheses that may itself hold blanks and parentheses.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).trim().split(" ", -1);
        int index = START_TIME_FIELD - 3;
        return fields.length > index ? Long.parseLong(fields[index]) : 0;
    }

    /** A file's text without blanks around it; something else if nobody can read it. */
    static String read(String path, String otherwise) {
        try {
            return new String(Files.readAllBytes(Path.of(path)), StandardCharsets.UTF_8).trim();
        } catch (IOException unreadable) {
            return otherwise;
        }
    }
}
