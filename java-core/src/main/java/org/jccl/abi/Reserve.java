package org.jccl.abi;

import org.jspecify.annotations.Nullable;

/**
 * Memory that is given up when Java has no other left, so that communicators can still be
 * destroyed: without it a full heap would stay full.
 */
final class Reserve {
    private static final int BYTES = 512 << 10;
    private static final int ENOUGH_BYTES = 128 << 10;

    /** Written by threads that destroy communicators; only to hold the memory (volatile). */
    private static volatile byte @Nullable [] held;

    /** So that the look whether there is memory is no dead code (volatile). */
    @SuppressWarnings("UnusedVariable")
    private static volatile byte @Nullable [] looked;

    private Reserve() {}

    /** Makes room for what the caller is about to do, if there is none. */
    static void open() {
        try {
            looked = new byte[ENOUGH_BYTES];
        } catch (OutOfMemoryError full) {
            held = null;
        }
        looked = null;
    }

    /** Takes memory, at first and when what was given up is free again. */
    static void close() {
        if (held == null) {
            try {
                held = new byte[BYTES];
            } catch (OutOfMemoryError full) {
                // The next one to be destroyed makes room.
            }
        }
    }
}
