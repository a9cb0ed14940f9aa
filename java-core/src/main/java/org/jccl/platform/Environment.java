package org.jccl.platform;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;

/**
 * The process's environment as the C library has it now. Java's own view is a snapshot from the
 * start of the virtual machine and misses what Python set since.
 */
public final class Environment {
    private Environment() {}

    /** The value of a variable, or null if it is not set. */
    public static @Nullable String get(String name) {
        try (Arena arena = Arena.ofConfined()) {
            long value = Libc.call(Libc.GETENV, arena.allocateFrom(name).address());
            return value == 0 ? null : Memory.string(value);
        }
    }
}
