package org.jccl.platform;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * System calls by number, all through the C library's variadic {@code syscall}, in two call shapes,
 * which Java prepares once (5 ms each): one that keeps errno from the virtual machine's own calls,
 * and one that does without and therefore allocates nothing even in code that is not compiled yet.
 * Both architectures have 64-bit registers for every argument, so no argument is split.
 */
@SuppressWarnings("restricted")
final class SystemCall {
    static final boolean X86 = System.getProperty("os.arch", "").matches("amd64|x86_64");

    static final long READ = number(0, 63);
    static final long WRITE = number(1, 64);
    static final long CLOSE = number(3, 57);
    static final long LSEEK = number(8, 62);
    static final long MMAP = number(9, 222);
    static final long MUNMAP = number(11, 215);
    static final long PREAD64 = number(17, 67);
    static final long SCHED_YIELD = number(24, 124);
    static final long SOCKET = number(41, 198);
    static final long CONNECT = number(42, 203);
    static final long SENDTO = number(44, 206);
    static final long RECVFROM = number(45, 207);
    static final long SENDMSG = number(46, 211);
    static final long SHUTDOWN = number(48, 210);
    static final long BIND = number(49, 200);
    static final long LISTEN = number(50, 201);
    static final long GETSOCKNAME = number(51, 204);
    static final long GETPEERNAME = number(52, 205);
    static final long SETSOCKOPT = number(54, 208);
    static final long GETSOCKOPT = number(55, 209);
    static final long FCNTL = number(72, 25);
    static final long FTRUNCATE = number(77, 46);
    static final long GETEUID = number(107, 175);
    static final long FSTATFS = number(138, 44);
    static final long GETTID = number(186, 178);
    static final long FUTEX = number(202, 98);
    static final long EPOLL_CTL = number(233, 21);
    static final long OPENAT = number(257, 56);
    static final long PPOLL = number(271, 73);
    static final long EPOLL_PWAIT = number(281, 22);
    static final long FALLOCATE = number(285, 47);
    static final long ACCEPT4 = number(288, 242);
    static final long EVENTFD2 = number(290, 19);
    static final long EPOLL_CREATE1 = number(291, 20);
    static final long PRLIMIT64 = number(302, 261);
    static final long PROCESS_VM_READV = number(310, 270);
    static final long MEMFD_CREATE = number(319, 279);
    static final long MEMBARRIER = number(324, 283);
    static final long PIDFD_OPEN = number(434, 434);

    /** One of the few flags that differ between the architectures. */
    static final int O_DIRECTORY = X86 ? 0200000 : 040000;

    private static final MethodHandle SYSCALL = link(Linker.Option.captureCallState("errno"));
    private static final MethodHandle PLAIN_SYSCALL = link();

    private SystemCall() {}

    /** The result, or -errno. */
    static long call(long number) {
        return call(number, 0, 0, 0, 0, 0, 0);
    }

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

    /**
     * A call on the way of a wait: nobody asks why it failed. Answers the result, or -1.
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

    private static long number(long x86, long aarch64) {
        return X86 ? x86 : aarch64;
    }

    private static MethodHandle link(Linker.Option... more) {
        ValueLayout.OfLong word = ValueLayout.JAVA_LONG;
        Linker linker = Linker.nativeLinker();
        Linker.Option[] options = Arrays.copyOf(more, more.length + 1);
        options[more.length] = Linker.Option.firstVariadicArg(1);
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow("syscall"),
                FunctionDescriptor.of(word, word, word, word, word, word, word, word),
                options);
    }
}
