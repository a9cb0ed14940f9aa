package org.jccl.suite;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A buffer with guard bytes on both sides. What a test writes and reads lies with the host.
 *
 * @param place where calls find the buffer
 * @param there the buffer and its guards, for calls
 * @param room the same, for the host
 * @param from where the buffer begins in them
 * @param bytes of the buffer
 */
record GuardedBuffer(Place place, MemorySegment there, MemorySegment room, long from, long bytes) {
    private static final int GUARD_BYTES = 64;
    private static final byte GUARD = 0x5A;

    /** A buffer whose address is {@code shift} bytes behind a multiple of 64. */
    static GuardedBuffer allocate(Arena arena, Place place, long bytes, int shift) {
        MemorySegment room = arena.allocate(bytes + 2L * GUARD_BYTES + shift, 64);
        room.fill(GUARD);
        MemorySegment there = place.standIn(room);
        return new GuardedBuffer(place, there, room, GUARD_BYTES + (long) shift, bytes);
    }

    /** The buffer, for calls. */
    MemorySegment forCalls() {
        return there.asSlice(from, bytes);
    }

    /** The buffer, for the host. */
    MemorySegment content() {
        return room.asSlice(from, bytes);
    }

    /** A copy of what the host sees. */
    byte[] bytesNow() {
        return content().toArray(ValueLayout.JAVA_BYTE);
    }

    /** So many bytes of the buffer, as a buffer whose guards are the rest and the guards. */
    GuardedBuffer part(long first, long count) {
        return new GuardedBuffer(place, there, room, from + first, count);
    }

    /** Shows to calls what the host has written. */
    void give() {
        place.give(there, room);
    }

    /** Shows to the host what calls have written. */
    void take() {
        place.take(room, there);
    }

    /** Fails if a byte outside the buffer was written. */
    void checkGuards() {
        for (long i = 0; i < room.byteSize(); i++) {
            if (i == from) {
                i = from + bytes;
            }
            if (i < room.byteSize() && room.get(ValueLayout.JAVA_BYTE, i) != GUARD) {
                throw new AssertionError("byte " + (i - from) + " of the buffer was written");
            }
        }
    }

    /** Ends the buffer; the host's part ends with its arena. */
    void release() {
        place.release(there);
    }
}
