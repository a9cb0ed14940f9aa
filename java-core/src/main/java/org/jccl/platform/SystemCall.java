package org.jccl.platform;

import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/**
 * System calls by number, all through the C library's variadic {@code syscall}, in two call shapes,
 * which Java prepares once (5 ms each): one that keeps errno from the virtual machine's own calls,
 * and one that does without and therefore allocates nothing even in code that is not compiled yet.
 * The numbers are those of x86-64.
 */
final class SystemCall {
    static final long READ = 0;
    static final long WRITE = 1;
    static final long CLOSE = 3;
    static final long LSEEK = 8;
    static final long MMAP = 9;
    static final long MUNMAP = 11;
    static final long RT_SIGPROCMASK = 14;
    static final long PREAD64 = 17;
    static final long SCHED_YIELD = 24;
    static final long SOCKET = 41;
    static final long CONNECT = 42;
    static final long SENDTO = 44;
    static final long RECVFROM = 45;
    static final long SENDMSG = 46;
    static final long SHUTDOWN = 48;
    static final long BIND = 49;
    static final long LISTEN = 50;
    static final long GETSOCKNAME = 51;
    static final long GETPEERNAME = 52;
    static final long SETSOCKOPT = 54;
    static final long GETSOCKOPT = 55;
    static final long FCNTL = 72;
    static final long FTRUNCATE = 77;
    static final long GETEUID = 107;
    static final long GETTID = 186;
    static final long FUTEX = 202;
    static final long SCHED_SETAFFINITY = 203;
    static final long SCHED_GETAFFINITY = 204;
    static final long EPOLL_CTL = 233;
    static final long OPENAT = 257;
    static final long PPOLL = 271;
    static final long EPOLL_PWAIT = 281;
    static final long FALLOCATE = 285;
    static final long ACCEPT4 = 288;
    static final long EVENTFD2 = 290;
    static final long EPOLL_CREATE1 = 291;
    static final long PRLIMIT64 = 302;
    static final long GETCPU = 309;
    static final long PROCESS_VM_READV = 310;
    static final long MEMFD_CREATE = 319;
    static final long MEMBARRIER = 324;
    static final long PIDFD_OPEN = 434;
    static final long FUTEX_WAITV = 449;

    private static final Linker.Option VARIADIC = Linker.Option.firstVariadicArg(1);
    private static final MethodHandle PLAIN_SYSCALL = Libc.link("syscall", 7, VARIADIC);
    private static final MethodHandle SYSCALL =
            Libc.link("syscall", 7, VARIADIC, Linker.Option.captureCallState("errno"));

    static {
        String processor = System.getProperty("os.arch", "");
        if (!processor.matches("amd64|x86_64")) {
            throw new UnsatisfiedLinkError("JCCL runs on x86-64, not on " + processor);
        }
    }

    private SystemCall() {}

    /** The result, or -errno. */
    static long call(long number, long a) {
        return call(number, a, 0, 0, 0, 0, 0);
    }

    static long call(long number, long a, long b) {
        return call(number, a, b, 0, 0, 0, 0);
    }

    static long call(long number, long a, long b, long c) {
        return call(number, a, b, c, 0, 0, 0);
    }

    static long call(long number, long a, long b, long c, long d) {
        return call(number, a, b, c, d, 0, 0);
    }

    static long call(long number, long a, long b, long c, long d, long e) {
        return call(number, a, b, c, d, e, 0);
    }

    static long call(long number, long a, long b, long c, long d, long e, long f) {
        CallState state = CallState.current();
        try {
            long result = (long) SYSCALL.invokeExact(state.segment, number, a, b, c, d, e, f);
            return result == -1 ? -state.errno() : result;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** A call that is made again as long as a signal ends it. */
    static long repeated(long number, long a, long b, long c, long d) {
        long result;
        do {
            result = call(number, a, b, c, d);
        } while (result == -Errno.EINTR);
        return result;
    }

    /**
     * A call that is made often, whose caller does not ask why it failed: the result, or -1.
     *
     * <p>The other shape makes an object of 40 bytes a call until it is compiled, which code that
     * runs seldom may never be.
     */
    static long plain(long number, long a, long b, long c, long d, long e) {
        try {
            return (long) PLAIN_SYSCALL.invokeExact(number, a, b, c, d, e, 0L);
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }
}
