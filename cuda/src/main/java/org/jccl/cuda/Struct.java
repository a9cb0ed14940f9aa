package org.jccl.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A struct of C that is filled in Java and copied at once: what stores each field into native
 * memory costs some microseconds until it has been compiled well.
 */
final class Struct {
    private final long[] words;
    private final MemorySegment image;
    private final MemorySegment struct;

    /**
     * @param bytes a multiple of 8
     */
    Struct(Arena arena, int bytes) {
        words = new long[bytes / Long.BYTES];
        image = MemorySegment.ofArray(words);
        struct = arena.allocate(bytes, Long.BYTES);
    }

    /** Where C finds what was {@link #copy copied}. */
    long address() {
        return struct.address();
    }

    /** Sets 8 bytes, at a multiple of 8. */
    void put(int at, long value) {
        words[at >> 3] = value;
    }

    /** Sets 4 bytes, at a multiple of 4. */
    void putInt(int at, int value) {
        put(at, 0xffff_ffffL, value);
    }

    /** Sets 2 bytes, at a multiple of 2. */
    void putShort(int at, int value) {
        put(at, 0xffffL, value);
    }

    private void put(int at, long mask, long value) {
        int shift = (at & 7) * Byte.SIZE;
        words[at >> 3] = words[at >> 3] & ~(mask << shift) | (value & mask) << shift;
    }

    /** Shows C the first bytes; as many as a multiple of 8. */
    void copy(long bytes) {
        MemorySegment.copy(image, 0, struct, 0, bytes);
    }
}
