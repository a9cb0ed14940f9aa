package org.jccl.platform;

/** Linux's error numbers that JCCL tells apart, and their texts. */
public final class Errno {
    public static final int ENOENT = 2;
    public static final int ESRCH = 3;
    public static final int EINTR = 4;
    public static final int EAGAIN = 11;
    public static final int ENOMEM = 12;
    public static final int ENFILE = 23;
    public static final int EFAULT = 14;
    public static final int EINVAL = 22;
    public static final int EMFILE = 24;
    public static final int EFBIG = 27;
    public static final int ENOSPC = 28;
    public static final int EADDRINUSE = 98;
    public static final int ENETUNREACH = 101;
    public static final int ECONNABORTED = 103;
    public static final int ETIMEDOUT = 110;
    public static final int ECONNREFUSED = 111;
    public static final int EHOSTUNREACH = 113;
    public static final int EINPROGRESS = 115;

    private static final int RLIMIT_FSIZE = 1;
    private static final int RLIMIT_NOFILE = 7;

    private Errno() {}

    /**
     * The system's words and the number, as in {@code "No space left on device (errno 28)"}. If a
     * limit is used up, the text says which, and how to raise it.
     */
    public static String text(int errno) {
        return text(errno, limit(errno));
    }

    /** The same with another text about the limit, or with none. */
    static String text(int errno, String limit) {
        String said = Memory.string(Libc.call(Libc.STRERROR, errno));
        return said + " (errno " + errno + limit + ")";
    }

    private static String limit(int errno) {
        return switch (errno) {
            case EMFILE ->
                    "; this process may have "
                            + resourceLimit(RLIMIT_NOFILE)
                            + " files open, RLIMIT_NOFILE: raise it with ulimit -n";
            case EFBIG -> {
                long most = resourceLimit(RLIMIT_FSIZE);
                yield most == -1
                        ? ""
                        : "; this process may make files of "
                                + most
                                + " bytes, RLIMIT_FSIZE: raise it with ulimit -f";
            }
            case ENFILE ->
                    "; the system's limit of open files is used up: raise it with sysctl"
                            + " fs.file-max";
            case ENOMEM ->
                    "; memory (memory.max of the container), address space (RLIMIT_AS, ulimit -v)"
                            + " or mappings (vm.max_map_count) are used up: free some, or raise"
                            + " that limit";
            case ENOSPC ->
                    "; memory that can be shared is used up: free some, or raise the container's"
                            + " limit (memory.max) or the system's (vm.overcommit_ratio)";
            default -> "";
        };
    }

    /** Whether a file may be so long. If not, the system ends a process that makes it so. */
    static boolean allowsFileOf(long bytes) {
        return Long.compareUnsigned(bytes, resourceLimit(RLIMIT_FSIZE)) <= 0;
    }

    /** A limit of this process; -1 for none. */
    private static long resourceLimit(int resource) {
        long rlimit = CallState.current().option;
        long result = SystemCall.call(SystemCall.PRLIMIT64, 0, resource, 0, rlimit);
        return result == 0 ? Memory.getLong(rlimit) : -1;
    }

    /** Whether the system refused for want of descriptors or memory. */
    static boolean isShortage(int errno) {
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOSPC;
    }
}
