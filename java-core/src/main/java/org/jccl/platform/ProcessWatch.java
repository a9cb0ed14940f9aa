package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * Finds out whether another process of this machine has ended, or has become another program. It
 * holds the process by a descriptor, so that the reuse of its number misleads nobody: a pidfd or,
 * where the system refuses those, its status in /proc, which tells of no other process either. A
 * second descriptor holds the memory of its program, if the system lets this process see that.
 * Ranks that watch the same process share both.
 *
 * @param process which one; {@link #open} watches it
 * @param fd by which it is held
 * @param refusal the errno by which the system refuses pidfds, 0 if this is one
 * @param memory by which the memory of its program is held, negative if by none
 */
public record ProcessWatch(Watched process, int fd, int refusal, int memory)
        implements AutoCloseable {
    private static final int SECOND_FIELD = 2;
    private static final int STATE_FIELD = 3;
    private static final int THREADS_FIELD = 20;

    /** How many bytes of a memory's description tell of one page. */
    private static final int PAGE_ENTRY_BYTES = 8;

    /**
     * A process: its number alone may be given again.
     *
     * @param programs how many programs before are still watched in it
     */
    record Watched(int pid, long startTime, int programs) {}

    /** One for each watched process, for all ranks and communicators of this process. */
    private static final Shared<Watched, ProcessWatch> SHARED =
            new Shared<>(
                    watch -> {
                        Descriptors.close(watch.fd);
                        closeIfOpen(watch.memory);
                    });

    /**
     * Watches a process from now on.
     *
     * @param startTime when it started, as {@link ProcessIdentity#startTime} says
     * @return null if it has ended
     * @throws NcclException SYSTEM_ERROR if descriptors or memory are used up, or nothing that
     *     tells its end can be opened
     */
    public static @Nullable ProcessWatch open(int pid, long startTime) {
        for (int programs = 0; ; programs++) {
            Watched process = new Watched(pid, startTime, programs);
            ProcessWatch watch = SHARED.use(process, ProcessWatch::openAnew);
            if (watch == null || !watch.ended()) {
                return watch;
            }
            boolean replaced = watch.replaced();
            watch.close();
            if (!replaced) {
                return null;
            }
        }
    }

    private static @Nullable ProcessWatch openAnew(Watched process) {
        int pid = process.pid;
        int fd = (int) SystemCall.call(SystemCall.PIDFD_OPEN, pid, 0);
        if (fd == -Errno.ESRCH) {
            return null;
        }
        if (Errno.isShortage(-fd)) {
            throw ErrorKind.SYSTEM_CALL.says("cannot watch process %s: %s", pid, Errno.text(-fd));
        }
        ProcessWatch watch = null;
        int status = -1;
        int memory = -1;
        try {
            status = ProcessIdentity.openStatus(pid);
            // A process that has that number now has had it since before the pidfd was opened.
            if (status >= 0 && ProcessIdentity.startTimeIn(status) == process.startTime) {
                memory = openMemory(pid);
                watch = new ProcessWatch(process, fd >= 0 ? fd : status, fd >= 0 ? 0 : -fd, memory);
            }
            return watch;
        } finally {
            closeUnused(watch, fd);
            closeUnused(watch, status);
            if (watch == null) {
                closeIfOpen(memory);
            }
        }
    }

    private static void closeUnused(@Nullable ProcessWatch watch, int fd) {
        if (watch == null || watch.fd != fd) {
            closeIfOpen(fd);
        }
    }

    private static void closeIfOpen(int fd) {
        if (fd >= 0) {
            Descriptors.close(fd);
        }
    }

    /**
     * Opens what the system says of a process's memory, which stays that of the program that the
     * process runs now; negative if the system refuses. It may: an end is known without it.
     */
    private static int openMemory(int pid) {
        int memory = Descriptors.open("/proc/" + pid + "/pagemap", 0);
        if (memory >= 0 && readMemory(memory, 0) != PAGE_ENTRY_BYTES) {
            Descriptors.close(memory);
            return -1;
        }
        return memory;
    }

    private static long readMemory(int memory, long position) {
        long to = CallState.current().status;
        return SystemCall.plain(SystemCall.PREAD64, memory, to, PAGE_ENTRY_BYTES, position, 0);
    }

    /** Whether the process has ended, or become another program. Does not wait. */
    public boolean ended() {
        return processEnded() || memoryEnded();
    }

    /**
     * Whether what was read from the process by its number may be another's memory. Costs less than
     * {@link #ended}, which knows more: a child that shares the memory may outlive the process.
     */
    public boolean readsAnother() {
        return memory >= 0 ? memoryEnded() : processEnded();
    }

    /** Whether nothing runs with the memory of the program any more. */
    private boolean memoryEnded() {
        // A position inside an entry is an error, -1, which the system finds first for a memory
        // that is in use: so it takes no lock and walks no pages (Linux 4.3 and later).
        return memory >= 0 && readMemory(memory, 1) == 0;
    }

    /** Whether a process whose watch says that it {@link #ended} runs another program now. */
    public boolean replaced() {
        if (processEnded()) {
            return false;
        }
        int now = openMemory(process.pid);
        closeIfOpen(now);
        // Without a descriptor for a look nothing says that it ends.
        return now >= 0 || Errno.isShortage(-now);
    }

    /** Whether the process has ended, as a zombie or altogether. */
    private boolean processEnded() {
        return refusal == 0 ? Sockets.pollOne(fd, Sockets.POLLIN, 0) > 0 : endedByStatus();
    }

    private boolean endedByStatus() {
        long text = CallState.current().status;
        int most = CallState.STATUS_BYTES;
        long length = SystemCall.plain(SystemCall.PREAD64, fd, text, most, 0, 0);
        if (length < 0) {
            // A process that is gone altogether has no status; or the system is short of memory.
            return SystemCall.call(SystemCall.PREAD64, fd, text, most, 0) == -Errno.ESRCH;
        }
        // The first thread may end long before the others.
        long state = field(text, length, STATE_FIELD);
        long threads = field(text, length, THREADS_FIELD);
        return length == 0
                || (threads != 0
                        && "ZXx".indexOf(Memory.getByte(state)) >= 0
                        && (Memory.getByte(threads) == '0' || Memory.getByte(threads) == '1')
                        && Memory.getByte(threads + 1) == ' ');
    }

    /** The start of a field of a status, or 0. The second field is a name: it may hold anything. */
    private static long field(long text, long length, int number) {
        long end = text + length;
        long at = end - 1;
        while (at > text && Memory.getByte(at) != ')') {
            at--;
        }
        for (int field = SECOND_FIELD; field < number; field++) {
            do {
                at++;
            } while (at < end && Memory.getByte(at) != ' ');
        }
        return at + 2 < end ? at + 1 : 0;
    }

    /** The caller of {@link #open} watches it no more; call this once for each opening. */
    @Override
    public void close() {
        SHARED.leave(process);
    }
}
