package org.jccl.platform;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The few functions of the C library that are no system calls; all of one shape. */
@SuppressWarnings("restricted")
final class Libc {
    private static final MethodHandle GETENV = link("getenv");
    private static final MethodHandle STRERROR = link("strerror");
    private static final MethodHandle GETIFADDRS = link("getifaddrs");
    private static final MethodHandle FREEIFADDRS = link("freeifaddrs");

    private Libc() {}

    /** Address of the value, or 0. */
    static long getenv(long name) {
        return call(GETENV, name);
    }

    /** Address of the text. */
    static long strerror(int errno) {
        return call(STRERROR, errno);
    }

    /** Writes the address of the list to {@code result}; false on failure. */
    static boolean getifaddrs(long result) {
        return (int) call(GETIFADDRS, result) == 0;
    }

    static void freeifaddrs(long list) {
        call(FREEIFADDRS, list);
    }

    private static long call(MethodHandle function, long argument) {
        try {
            return (long) function.invokeExact(argument);
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** A handle throws only by an error of ours: its descriptor and the call differ. */
    static IllegalStateException unexpected(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        if (cause instanceof RuntimeException exception) {
            throw exception;
        }
        return new IllegalStateException("a native call failed", cause);
    }

    private static MethodHandle link(String name) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow(name),
                FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    }
}
