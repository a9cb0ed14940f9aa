package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.platform.Memory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.util.HashSet;
import java.util.Set;

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
        long large = memory.take(65_536);
        memory.giveBack(large);
        assertNotEquals(large, memory.take(16_000));
        assertEquals(large, memory.take(20_000));
        memory.giveBack(large);
        assertNotEquals(large, memory.take(65_537));
        assertEquals(large, memory.take(65_536));
    }

    @Test
    void whatIsInUseIsNotGivenTwice() {
        assertNotEquals(memory.take(5_000), memory.take(5_000));
        assertEquals(2, made);
    }

    @ParameterizedTest
    @ValueSource(longs = {64, 4_096})
    void smallMemoryComesInPieces(long bytes) {
        Set<Long> pieces = new HashSet<>();
        for (int i = 0; i < 64; i++) {
            long piece = memory.take(i == 5 ? bytes - 1 : bytes);
            assertEquals(0, piece % 64);
            assertEquals(0, Memory.getLong(piece + bytes - 8));
            assertTrue(pieces.stream().allMatch(other -> Math.abs(other - piece) >= bytes));
            pieces.add(piece);
        }
        assertEquals(1, made);
        memory.take(bytes);
        assertEquals(2, made);
    }

    @Test
    void foreignMemoryIsRefused() {
        assertThrows(IllegalStateException.class, () -> memory.giveBack(4096));
    }
}
