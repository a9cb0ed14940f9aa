package org.jccl.suite;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A buffer with guard bytes on both sides.
 *
 * @param room the buffer and its guards
 * @param buffer the buffer
 */
record GuardedBuffer(MemorySegment room, MemorySegment buffer) {
    private static final int GUARD_BYTES = 64;
    private static final byte GUARD = 0x5A;

    /** A buffer whose address is {@code shift} bytes behind a multiple of 64. */
    static GuardedBuffer allocate(Arena arena, long bytes, int shift) {
        MemorySegment room = arena.allocate(bytes + 2L * GUARD_BYTES + shift, 64);
        room.fill(GUARD);
        return new GuardedBuffer(room, room.asSlice(GUARD_BYTES + (long) shift, bytes));
    }

    /** Fails if a byte outside {@code [fromBytes, endBytes)} of the buffer was written. */
    void checkUntouchedOutside(long fromBytes, long endBytes) {
        long start = buffer.address() - room.address();
        for (long i = 0; i < room.byteSize(); i++) {
            if (i == start + fromBytes) {
                i = start + endBytes;
            }
            if (i < room.byteSize() && room.get(ValueLayout.JAVA_BYTE, i) != GUARD) {
                throw new AssertionError("byte " + (i - start) + " of the buffer was written");
            }
        }
    }
}
