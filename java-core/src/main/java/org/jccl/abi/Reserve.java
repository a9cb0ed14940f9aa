package org.jccl.abi;

import org.jspecify.annotations.Nullable;

/**
 * Memory that is given up when Java has no other left, so that communicators can still be
 * destroyed: without it a full heap would stay full.
 */
final class Reserve {
    private static final int BYTES = 512 << 10;
    private static final int ENOUGH_BYTES = 128 << 10;

    /** Only holds the memory; threads that destroy communicators write it (volatile). */
    private static volatile byte @Nullable [] held;

    /** Keeps the compiler from removing the test whether there is memory (volatile). */
    @SuppressWarnings("UnusedVariable")
    private static volatile byte @Nullable [] looked;

    private Reserve() {}

    /** Gives the memory up if the caller, who is about to need some, would find none. */
    static void open() {
        try {
            looked = new byte[ENOUGH_BYTES];
        } catch (OutOfMemoryError full) {
            held = null;
        }
        looked = null;
    }

    /** Takes the memory, at first, and again when Java has some after it was given up. */
    static void close() {
        if (held == null) {
            try {
                held = new byte[BYTES];
            } catch (OutOfMemoryError full) {
                // The next end of a communicator tries again.
            }
        }
    }
}
