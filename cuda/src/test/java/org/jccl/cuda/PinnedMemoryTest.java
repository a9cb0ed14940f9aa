package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jccl.platform.Memory;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;

final class PinnedMemoryTest {
    private int made;
    private final PinnedMemory memory =
            new PinnedMemory(
                    bytes -> {
                        made++;
                        return Arena.global().allocate(bytes, 4096).fill((byte) 7).address();
                    });

    @Test
    void whatIsFreedServesAgainAsItIs() {
        long first = memory.take(4096);
        assertEquals(0, Memory.getLong(first));
        Memory.putLong(first + 4088, 5);
        memory.giveBack(first);
        assertEquals(first, memory.take(4096));
        assertEquals(5, Memory.getLong(first + 4088));
        assertEquals(1, made);
    }

    @Test
    void smallerCallsTakeLargerMemoryThatIsNotMuchLarger() {
        long large = memory.take(16_384);
        memory.giveBack(large);
        assertNotEquals(large, memory.take(4_000));
        assertEquals(large, memory.take(5_000));
        memory.giveBack(large);
        assertNotEquals(large, memory.take(16_385));
        assertEquals(large, memory.take(16_384));
    }

    @Test
    void whatIsInUseIsNotGivenTwice() {
        assertNotEquals(memory.take(64), memory.take(64));
        assertEquals(2, made);
    }

    @Test
    void foreignMemoryIsRefused() {
        assertThrows(IllegalStateException.class, () -> memory.giveBack(4096));
    }
}
