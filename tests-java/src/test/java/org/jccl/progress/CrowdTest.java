package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.platform.Threads;
import org.junit.jupiter.api.Test;

final class CrowdTest {
    private static final long THREAD = 7;
    private static final long NS = 800;

    @Test
    void beginsWhereAThreadWaitsForAQuarterOfTheTime() {
        Crowd crowd = new Crowd();
        crowd.learn(THREAD, 0, 0);
        crowd.learn(THREAD, NS, NS / 4);
        assertFalse(crowd.isThere());
        crowd.learn(THREAD, 2 * NS, NS / 4 + NS / 4 + 1);
        assertTrue(crowd.isThere());
    }

    @Test
    void goesWhereAThreadWaitsForLessThanAnEighth() {
        Crowd crowd = crowded();
        long delayedNs = NS;
        crowd.learn(THREAD, 2 * NS, delayedNs += NS / 8 + 1);
        assertTrue(crowd.isThere());
        crowd.learn(THREAD, 3 * NS, delayedNs + NS / 8);
        assertFalse(crowd.isThere());
    }

    /** The numbers of two threads have nothing to do with each other. */
    @Test
    void anotherThreadTellsNothingAtItsFirstLook() {
        Crowd crowd = crowded();
        crowd.learn(THREAD + 1, 2 * NS, 2 * NS);
        assertFalse(crowd.isThere());
        crowd.learn(THREAD + 1, 3 * NS, 3 * NS);
        assertTrue(crowd.isThere());
    }

    @Test
    void isNotThereIfTheSystemDoesNotCount() {
        Crowd crowd = crowded();
        crowd.learn(THREAD, 2 * NS, -1);
        assertFalse(crowd.isThere());
        crowd.learn(THREAD, 3 * NS, -1);
        assertFalse(crowd.isThere());
    }

    @Test
    void theSystemCountsUpwards() {
        long before = Threads.delayedNs();
        assertTrue(before >= 0, "the system does not count how long threads wait for cores");
        assertTrue(Threads.delayedNs() >= before);
    }

    private static Crowd crowded() {
        Crowd crowd = new Crowd();
        crowd.learn(THREAD, 0, 0);
        crowd.learn(THREAD, NS, NS);
        assertTrue(crowd.isThere());
        return crowd;
    }
}
