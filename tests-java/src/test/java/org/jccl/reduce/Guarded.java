package org.jccl.reduce;

import static org.junit.jupiter.api.Assertions.fail;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A native buffer at a chosen misalignment, between bytes that nobody may touch. */
final class Guarded {
    private static final int GUARD_BYTES = 192;
    private static final byte GUARD = (byte) 0xa5;

    private final MemorySegment whole;
    private final int begin;
    private final int bytes;

    /**
     * Allocates in {@code arena}.
     *
     * @param misalignment bytes past a multiple of 64, below 64
     */
    Guarded(Arena arena, int bytes, int misalignment) {
        this.whole = arena.allocate(2L * GUARD_BYTES + 64 + bytes, 64);
        this.begin = GUARD_BYTES + misalignment;
        this.bytes = bytes;
        whole.fill(GUARD);
    }

    long address() {
        return whole.address() + begin;
    }

    void put(byte[] content) {
        MemorySegment.copy(content, 0, whole, ValueLayout.JAVA_BYTE, begin, bytes);
    }

    byte[] get() {
        return whole.asSlice(begin, bytes).toArray(ValueLayout.JAVA_BYTE);
    }

    void assertGuardsUntouched(String what) {
        assertGuard(0, begin, what);
        assertGuard(begin + bytes, (int) whole.byteSize(), what);
    }

    private void assertGuard(int from, int to, String what) {
        for (int at = from; at < to; at++) {
            byte found = whole.get(ValueLayout.JAVA_BYTE, at);
            if (found != GUARD) {
                fail(what + ": wrote " + found + " at byte " + (at - begin) + " of " + bytes);
            }
        }
    }
}
