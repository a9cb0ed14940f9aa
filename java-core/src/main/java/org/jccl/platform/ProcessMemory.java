package org.jccl.platform;

/** Memory of other processes, which the system lets their user's other processes read. */
public final class ProcessMemory {
    private ProcessMemory() {}

    /**
     * Copies from a process's memory into this one's.
     *
     * @param from an address in the other process, which may be this one
     * @return how many bytes were copied, fewer where the memory behind cannot be read; or -errno
     */
    public static long read(int pid, long from, long to, long bytes) {
        // The system knows a process by its first thread, which may have ended.
        int target = pid == ProcessIdentity.current().pid() ? (int) Threads.id() : pid;
        long local = CallState.current().iovecs;
        long remote = local + Memory.RANGE_BYTES;
        Memory.putRange(local, to, bytes);
        Memory.putRange(remote, from, bytes);
        return SystemCall.call(SystemCall.PROCESS_VM_READV, target, local, 1, remote, 1, 0);
    }
}
