package org.jccl.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.util.Random;

final class SlicesTest {
    private static final long SEED = 20261121;

    @Test
    void coverTheRangeWithoutGapOrOverlap() {
        Random random = new Random(SEED);
        for (int i = 0; i < 20_000; i++) {
            long bytes = random.nextLong(1L << random.nextInt(1, 50));
            int parts = 1 + random.nextInt(40);
            Slices slices = new Slices(bytes, parts);
            String what = bytes + " bytes in " + parts;
            assertEquals(0, slices.start(0), what);
            assertEquals(bytes, slices.start(parts), what);
            for (int p = 0; p < parts; p++) {
                assertTrue(slices.length(p) >= 0, what);
                assertEquals(slices.start(p + 1), slices.start(p) + slices.length(p), what);
            }
        }
    }

    @Test
    void beginAtCacheLinesAndDifferByOneAtMost() {
        Random random = new Random(SEED);
        for (int i = 0; i < 20_000; i++) {
            long bytes = 1 + random.nextLong(1L << random.nextInt(1, 40));
            int parts = 1 + random.nextInt(40);
            Slices slices = new Slices(bytes, parts);
            String what = bytes + " bytes in " + parts;
            long least = Long.MAX_VALUE;
            for (int p = 0; p < parts; p++) {
                if (slices.length(p) > 0) {
                    assertEquals(0, slices.start(p) % Slices.LINE_BYTES, what);
                }
                assertTrue(slices.length(p) <= slices.stride(), what);
                boolean last = slices.start(p + 1) == bytes;
                least = last ? least : Math.min(least, slices.length(p));
            }
            assertTrue(slices.stride() - Math.min(slices.stride(), least) <= 64, what);
            assertEquals(0, slices.stride() % Slices.LINE_BYTES, what);
        }
    }

    @Test
    void areEmptyOnlyAtTheEnd() {
        Slices slices = new Slices(130, 5);
        assertEquals(64, slices.length(0));
        assertEquals(64, slices.length(1));
        assertEquals(2, slices.length(2));
        assertEquals(0, slices.length(3));
        assertEquals(0, slices.length(4));
    }

    @Test
    void ofALimitedLengthAreAsFewAsCanBe() {
        Random random = new Random(SEED);
        for (int i = 0; i < 20_000; i++) {
            long bytes = 1 + random.nextLong(1 << 20);
            long most = 64L + random.nextInt(8000);
            Slices slices = Slices.atMost(bytes, most);
            String what = bytes + " bytes, at most " + most;
            for (int p = 0; p < slices.parts(); p++) {
                assertTrue(slices.length(p) > 0 && slices.length(p) <= most, what);
            }
            long whole = most / 64 * 64;
            assertEquals((bytes + whole - 1) / whole, slices.parts(), what);
        }
        assertThrows(IllegalArgumentException.class, () -> Slices.atMost(100, 63));
    }

    @Test
    void ofEqualLengthAreFollowedByAShorterOne() {
        Slices slices = Slices.ofEach(130, 50);
        assertEquals(3, slices.parts());
        assertEquals(50, slices.length(0));
        assertEquals(100, slices.start(2));
        assertEquals(30, slices.length(2));
        assertEquals(50, slices.stride());
    }

    @Test
    void keepWholeElementsTogether() {
        for (int elementBytes : new int[] {1, 2, 4, 8}) {
            for (int count = 1; count < 500; count++) {
                Slices slices = new Slices((long) count * elementBytes, 7);
                for (int p = 0; p < 7; p++) {
                    assertEquals(0, slices.length(p) % elementBytes);
                }
            }
        }
    }
}
