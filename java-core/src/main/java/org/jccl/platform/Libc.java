package org.jccl.platform;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * Handles of C library functions. Pointers travel as {@code long}; a handle made by {@link
 * #capturing} takes {@link CallState#segment} first and leaves errno there.
 */
@SuppressWarnings("restricted")
final class Libc {
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

    /** System call numbers and flags differ between the two architectures that Linux has here. */
    static final boolean X86 = System.getProperty("os.arch", "").matches("amd64|x86_64");

    private static final Linker LINKER = Linker.nativeLinker();

    private Libc() {}

    /** A function whose errno is kept. */
    static MethodHandle capturing(String name, ValueLayout result, ValueLayout... parameters) {
        return link(name, result, parameters, Linker.Option.captureCallState("errno"));
    }

    /** The same for a function with fixed parameters followed by variadic ones. */
    static MethodHandle capturingVariadic(
            String name, int fixed, ValueLayout result, ValueLayout... parameters) {
        return link(
                name,
                result,
                parameters,
                Linker.Option.captureCallState("errno"),
                Linker.Option.firstVariadicArg(fixed));
    }

    /** A function that cannot fail. */
    static MethodHandle plain(String name, ValueLayout result, ValueLayout... parameters) {
        return link(name, result, parameters);
    }

    /** What a handle throws can only be an error of ours: descriptor and call differ. */
    static IllegalStateException unexpected(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        if (cause instanceof RuntimeException exception) {
            throw exception;
        }
        return new IllegalStateException("a native call failed", cause);
    }

    private static MethodHandle link(
            String name, ValueLayout result, ValueLayout[] parameters, Linker.Option... options) {
        List<MemoryLayout> layouts = new ArrayList<>(List.of(parameters));
        FunctionDescriptor descriptor =
                FunctionDescriptor.of(result, layouts.toArray(new MemoryLayout[0]));
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor, options);
    }
}
