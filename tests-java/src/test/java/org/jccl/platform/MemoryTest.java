package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class MemoryTest {
    @Test
    void readsWhatWasWrittenAtAnyAlignment() {
        try (SharedMemory memory = SharedMemory.anonymous(4_096)) {
            long at = memory.address() + 3;
            Memory.putLong(at, 0x0102030405060708L);
            assertEquals(0x0102030405060708L, Memory.getLong(at));
            assertEquals(0x05060708, Memory.getInt(at));
            assertEquals(0x0708, Memory.getShort(at));
            assertEquals(8, Memory.getByte(at));
        }
    }

    @Test
    void exchangesAtomically() {
        try (SharedMemory memory = SharedMemory.anonymous(4_096)) {
            long at = memory.address();
            Memory.putIntRelease(at, 5);
            assertEquals(5, Memory.getAndSetInt(at, 7));
            assertEquals(7, Memory.getAndAddInt(at, 3));
            assertEquals(10, Memory.getIntAcquire(at));
            Memory.putLongRelease(at + 8, -1);
            assertEquals(-1, Memory.getLongAcquire(at + 8));
        }
    }

    @Test
    void copiesOverlappingRangesAndArrays() {
        try (SharedMemory memory = SharedMemory.anonymous(4_096)) {
            long at = memory.address();
            byte[] bytes = {1, 2, 3, 4, 5};
            Memory.copyIn(bytes, 0, at, 5);
            Memory.copy(at, at + 1, 5);
            byte[] seen = new byte[6];
            Memory.copyOut(at, seen, 0, 6);
            assertArrayEquals(new byte[] {1, 1, 2, 3, 4, 5}, seen);
            Memory.fill(at + 1, 4, (byte) 9);
            Memory.copyOut(at, seen, 0, 6);
            assertArrayEquals(new byte[] {1, 9, 9, 9, 9, 5}, seen);
        }
    }
}
