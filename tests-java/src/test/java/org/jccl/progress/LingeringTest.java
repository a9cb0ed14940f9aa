package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Which starts stay with their operation. */
final class LingeringTest {
    @Test
    void firstStartStays() {
        assertTrue(new Lingering().pays());
    }

    @Test
    void fewStayWherePeersAreLate() {
        Lingering lingering = new Lingering();
        int stayed = 0;
        for (int start = 0; start < 900; start++) {
            if (lingering.pays()) {
                stayed++;
                lingering.learn(false);
            }
        }
        assertEquals(100, stayed, 3);
    }

    @Test
    void allStayAgainAfterOneThatWasInTime() {
        Lingering lingering = new Lingering();
        for (int start = 0; start < 100; start++) {
            if (lingering.pays()) {
                lingering.learn(false);
            }
        }
        while (!lingering.pays()) {
            Thread.onSpinWait();
        }
        lingering.learn(true);
        for (int start = 0; start < 100; start++) {
            assertTrue(lingering.pays());
            lingering.learn(true);
        }
    }
}
