package org.jccl.platform;

import java.lang.foreign.Arena;

/** A real seccomp filter, as containers have them; it stays with the thread that installs it. */
final class Filter {
    private static final boolean X86 = System.getProperty("os.arch").matches("amd64|x86_64");
    private static final long PRCTL = X86 ? 157 : 167;
    private static final long SECCOMP = X86 ? 317 : 277;
    private static final int PR_SET_NO_NEW_PRIVS = 38;
    private static final int SECCOMP_SET_MODE_FILTER = 1;
    private static final long LOAD_NUMBER = 0x20;
    private static final long IF_EQUAL = 0x15;
    private static final long ELSE_SKIP_ONE = 1L << 24;
    private static final long RETURN = 0x06;
    private static final long ERRNO = 0x00050000;
    private static final long ALLOW = 0x7fff0000;

    private Filter() {}

    /** From now on the system refuses this call to this thread. */
    static void refuse(long number, int errno) {
        try (Arena arena = Arena.ofConfined()) {
            long program = arena.allocate(32, 8).address();
            Memory.putLong(program, LOAD_NUMBER);
            Memory.putLong(program + 8, number << 32 | ELSE_SKIP_ONE | IF_EQUAL);
            Memory.putLong(program + 16, (ERRNO | errno) << 32 | RETURN);
            Memory.putLong(program + 24, ALLOW << 32 | RETURN);
            long header = arena.allocate(16, 8).address();
            Memory.putLong(header, 4);
            Memory.putLong(header + 8, program);
            require(SystemCall.call(PRCTL, PR_SET_NO_NEW_PRIVS, 1));
            require(SystemCall.call(SECCOMP, SECCOMP_SET_MODE_FILTER, 0, header));
        }
    }

    private static void require(long result) {
        if (result < 0) {
            throw new AssertionError("the filter is refused: " + Errno.text((int) -result));
        }
    }
}
