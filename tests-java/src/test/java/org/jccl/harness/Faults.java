package org.jccl.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.concurrent.locks.LockSupport;

/**
 * Faults in this process: a chosen system call of JCCL fails, or kills or stops the process. Works
 * if {@code faults.c} is preloaded, see {@link #preloaded}; it also counts what JCCL holds.
 */
@SuppressWarnings("restricted")
public final class Faults {
    /** The effect at the call: it fails, or the process is killed or stopped. */
    public enum Action {
        FAIL(1),
        KILL(2),
        STOP(3);

        private final int number;

        Action(int number) {
            this.number = number;
        }
    }

    /** The calls that are counted. */
    public enum Calls {
        NONE(0),
        /** All but those by which a thread yields. */
        ANY(-1),
        /** Those that make a descriptor. */
        DESCRIPTORS(-2),
        /** Those that map or allocate memory. */
        MEMORY(-3),
        /** Those that make memory that can be shared. */
        SHARED(-4),
        /** Those that change what an epoll instance watches. */
        WATCHES(-5),
        /** Those that make a thread, which are the whole process's and can only fail. */
        THREADS(-6),
        /** Those that allocate memory that is shared. */
        ALLOCATIONS(-7),
        /** Those that make memory that can be shared and is in no file system. */
        MEMFDS(-8),
        /** Those that read the memory of another process. */
        READS(-9),
        /**
         * Those by which the thread that arms the fault asks for the state of descriptors, such as
         * whether a process has ended.
         */
        POLLS(-10);

        private final int number;

        Calls(int number) {
            this.number = number;
        }
    }

    /** The number of times of a fault that lasts until {@link #disarm}. */
    public static final int LASTING = 0;

    /** Time that may pass while the clock jumps; jumps are much longer. */
    private static final long JUMP_SLACK_S = 24 * 3600;

    private static final long CONTROL = 0x4a43434c;
    private static final int ARM = 1;
    private static final int DISARM = 2;
    private static final int FDS = 3;
    private static final int MAPS = 4;
    private static final int WRONG = 5;
    private static final int CLOCK = 6;
    private static final long PRLIMIT =
            System.getProperty("os.arch").matches("amd64|x86_64") ? 302 : 261;
    private static final long GETPID =
            System.getProperty("os.arch").matches("amd64|x86_64") ? 39 : 172;
    private static final int RLIMIT_NOFILE = 7;
    private static final Path SOURCE = Path.of("src", "test", "c", "faults.c");
    private static final MethodHandle SYSCALL = link();

    private Faults() {}

    /** A cluster whose processes have it preloaded. */
    public static Cluster preloaded(Cluster cluster) {
        return cluster.environment("LD_PRELOAD", Library.PATH.toString());
    }

    /** Compiles the library once in each process of tests, which all use the same file. */
    private static final class Library {
        static final Path PATH = build();

        private static Path build() {
            try {
                Path library = Path.of("target", "libfaults.so").toAbsolutePath();
                Path partial = Files.createTempFile(library.getParent(), "libfaults", ".partial");
                Process compiler =
                        new ProcessBuilder(
                                        "cc",
                                        "-O1",
                                        "-shared",
                                        "-fPIC",
                                        "-o",
                                        partial.toString(),
                                        SOURCE.toString(),
                                        "-ldl")
                                .redirectErrorStream(true)
                                .start();
                byte[] said = compiler.getInputStream().readAllBytes();
                if (compiler.onExit().join().exitValue() != 0) {
                    throw new IOException(new String(said, StandardCharsets.UTF_8));
                }
                // Ranks of another process of tests may be loading it.
                return Files.move(partial, library, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /**
     * From now on the {@code nth} of these calls, and those after it, meet the fault.
     *
     * @param times how often, or {@link #LASTING}
     */
    public static void arm(Action action, Calls calls, int nth, int errno, int times) {
        control(ARM, action.number, calls.number, nth, errno, times);
    }

    /** Ends the fault; returns how often it was met. */
    public static long disarm() {
        return control(DISARM, 0, 0, 0, 0, 0);
    }

    /** Stays until the thread that has met a fault has killed the process. */
    public static void awaitDeath() {
        while (true) {
            LockSupport.park();
        }
    }

    /** Makes a system call, for a fault that was not met. */
    public static void touch() {
        long ignored = call(GETPID, 0, 0, 0, 0, 0);
    }

    /**
     * Moves the wall clock, as this process sees it.
     *
     * @throws AssertionError if it has not moved: then a test of jumps would show nothing
     */
    public static void jumpSeconds(long seconds) {
        long before = Instant.now().getEpochSecond();
        control(CLOCK, seconds, 0, 0, 0, 0);
        long moved = Instant.now().getEpochSecond() - before;
        if (Math.abs(moved - seconds) > JUMP_SLACK_S) {
            throw new AssertionError(
                    "the wall clock should jump by " + seconds + " s and has moved by " + moved);
        }
    }

    /**
     * Limits this process to descriptors with numbers below {@code limit}.
     *
     * @return the limit before
     */
    public static int limitDescriptors(int limit) {
        try (java.lang.foreign.Arena arena = java.lang.foreign.Arena.ofConfined()) {
            var rlimit = arena.allocate(ValueLayout.JAVA_LONG, 2);
            call(PRLIMIT, 0, RLIMIT_NOFILE, 0, rlimit.address(), 0);
            int before = (int) rlimit.getAtIndex(ValueLayout.JAVA_LONG, 0);
            rlimit.setAtIndex(ValueLayout.JAVA_LONG, 0, limit);
            if (call(PRLIMIT, 0, RLIMIT_NOFILE, rlimit.address(), 0, 0) != 0) {
                throw new IllegalStateException("the limit of descriptors cannot be set");
            }
            return before;
        }
    }

    /** The limit that leaves exactly {@code free} numbers for new descriptors. */
    public static int limitFor(int free) {
        int limit = 0;
        for (int left = free; left > 0 || open(limit); limit++) {
            left -= open(limit) ? 0 : 1;
        }
        return limit;
    }

    private static boolean open(int descriptor) {
        return Files.exists(
                Path.of("/proc/self/fd/" + descriptor), java.nio.file.LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * Waits until JCCL holds nothing in this process but its listener: a socket, one to spare, a
     * descriptor to wake its thread by, and the one for its unproven connections. Connections that
     * were cut take seconds.
     *
     * @throws AssertionError if something stays, or something was freed that was not held
     */
    public static void requireNothingHeld() {
        long end = System.nanoTime() + 30_000_000_000L;
        while (!clean() && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(2_000_000);
        }
        if (!clean()) {
            throw new AssertionError(
                    "JCCL holds "
                            + descriptors()
                            + " descriptors and "
                            + control(MAPS, 0, 0, 0, 0, 0)
                            + " mappings, and has freed "
                            + control(WRONG, 0, 0, 0, 0, 0)
                            + " wrongly");
        }
        long threads =
                Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().startsWith("jccl-"))
                        .count();
        // jccl-net, jccl-warm, and at most four each of jccl-job and jccl-stream.
        if (threads > 10) {
            throw new AssertionError(threads + " threads of JCCL's\n" + Stacks.all());
        }
    }

    /** How many JCCL holds. */
    public static long descriptors() {
        return control(FDS, 0, 0, 0, 0, 0);
    }

    private static boolean clean() {
        return descriptors() <= 4
                && control(MAPS, 0, 0, 0, 0, 0) == 0
                && control(WRONG, 0, 0, 0, 0, 0) == 0;
    }

    private static long control(long what, long a, long b, long c, long d, long e) {
        long result = call(CONTROL, what, a, b, c, d, e);
        if (result < 0) {
            throw new IllegalStateException("faults.c is not preloaded");
        }
        return result;
    }

    private static long call(long number, long a, long b, long c, long d, long e) {
        return call(number, a, b, c, d, e, 0);
    }

    private static long call(long number, long a, long b, long c, long d, long e, long f) {
        try {
            return (long) SYSCALL.invokeExact(number, a, b, c, d, e, f);
        } catch (Throwable cause) {
            throw new IllegalStateException(cause);
        }
    }

    private static MethodHandle link() {
        ValueLayout.OfLong word = ValueLayout.JAVA_LONG;
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow("syscall"),
                FunctionDescriptor.of(word, word, word, word, word, word, word, word),
                Linker.Option.firstVariadicArg(1));
    }
}
