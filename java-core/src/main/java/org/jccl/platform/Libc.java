package org.jccl.platform;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/** The few functions of the C library that are no system calls; all of one shape. */
@SuppressWarnings("restricted")
final class Libc {
    /** From the address of a name to that of the value, or 0. */
    static final MethodHandle GETENV = link("getenv", 1);

    /** From an errno to the address of the text. */
    static final MethodHandle STRERROR = link("strerror", 1);

    /** Writes the address of the list to the argument's; an int that is not 0 on failure. */
    static final MethodHandle GETIFADDRS = link("getifaddrs", 1);

    static final MethodHandle FREEIFADDRS = link("freeifaddrs", 1);

    private Libc() {}

    /** Calls one of these functions. */
    static long call(MethodHandle function, long argument) {
        try {
            return (long) function.invokeExact(argument);
        } catch (Throwable cause) {
            throw unexpected(cause);
        }
    }

    /** A handle throws only if its descriptor and the call differ, which is an error of ours. */
    static IllegalStateException unexpected(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        return new IllegalStateException("a native call failed", cause);
    }

    /** A function from so many longs to a long. */
    static MethodHandle link(String name, int arguments, Linker.Option... options) {
        MemoryLayout[] longs = new MemoryLayout[arguments];
        Arrays.fill(longs, ValueLayout.JAVA_LONG);
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow(name),
                FunctionDescriptor.of(ValueLayout.JAVA_LONG, longs),
                options);
    }
}
