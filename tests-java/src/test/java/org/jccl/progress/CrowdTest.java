package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.comm.Comm;
import org.jccl.platform.Threads;
import org.junit.jupiter.api.Test;

import java.util.function.LongSupplier;

final class CrowdTest {
    private static final long THREAD = 7;
    private static final long NS = 800;
    private static final int CORES = Runtime.getRuntime().availableProcessors();

    @Test
    void beginsWhereAThreadWaitsForAQuarterOfTheTime() {
        Crowd crowd = new Crowd();
        crowd.learn(THREAD, 0, 0, -1);
        crowd.learn(THREAD, NS, NS / 4, -1);
        assertFalse(crowd.isThere());
        crowd.learn(THREAD, 2 * NS, NS / 4 + NS / 4 + 1, -1);
        assertTrue(crowd.isThere());
    }

    @Test
    void goesWhereAThreadWaitsForLessThanAnEighth() {
        Crowd crowd = crowded();
        long delayedNs = NS;
        crowd.learn(THREAD, 2 * NS, delayedNs += NS / 8 + 1, -1);
        assertTrue(crowd.isThere());
        crowd.learn(THREAD, 3 * NS, delayedNs + NS / 8, -1);
        assertFalse(crowd.isThere());
    }

    /** The numbers of two threads have nothing to do with each other. */
    @Test
    void anotherThreadTellsNothingAtItsFirstLook() {
        Crowd crowd = crowded();
        crowd.learn(THREAD + 1, 2 * NS, 2 * NS, -1);
        assertFalse(crowd.isThere());
        crowd.learn(THREAD + 1, 3 * NS, 3 * NS, -1);
        assertTrue(crowd.isThere());
    }

    @Test
    void isNotThereIfTheSystemDoesNotCount() {
        Crowd crowd = crowded();
        crowd.learn(THREAD, 2 * NS, -1, -1);
        assertFalse(crowd.isThere());
        crowd.learn(THREAD, 3 * NS, -1, -1);
        assertFalse(crowd.isThere());
    }

    /** Ranks that make way for other work do not wait for long. */
    @Test
    void staysWhileNoCoreIsIdle() {
        Crowd crowd = crowded();
        long idleNs = CORES * NS / 16 - 1;
        crowd.learn(THREAD, 2 * NS, NS, idleNs);
        assertTrue(crowd.isThere());
        crowd.learn(THREAD, 3 * NS, NS, idleNs + CORES * NS / 16);
        assertFalse(crowd.isThere());
    }

    /** A rank may wait long for its own threads. */
    @Test
    void doesNotBeginOnlyBecauseNoCoreIsIdle() {
        Crowd crowd = new Crowd();
        crowd.learn(THREAD, 0, 0, 0);
        crowd.learn(THREAD, NS, NS / 4, 0);
        assertFalse(crowd.isThere());
    }

    @Test
    void theSystemCountsUpwards() {
        countsUpwards(Threads::delayedNs);
        countsUpwards(Threads::idleNs);
    }

    /** The ranks may fill the cores themselves; a crowd that comes back stays for longer. */
    @Test
    void goesInTheEndThoughNoCoreIsIdle() {
        Crowd crowd = crowded();
        long nowNs = NS;
        int first = looksUntilItGoes(crowd, nowNs);
        nowNs += first * NS;
        assertEquals(17, first);
        crowd.learn(THREAD, nowNs += NS, 2 * NS, 0);
        assertTrue(crowd.isThere());
        nowNs += NS;
        crowd.learn(THREAD, nowNs, 2 * NS, 0);
        assertEquals(32, looksUntilItGoes(crowd, nowNs, 2 * NS));
    }

    private static int looksUntilItGoes(Crowd crowd, long nowNs) {
        return looksUntilItGoes(crowd, nowNs, NS);
    }

    private static int looksUntilItGoes(Crowd crowd, long nowNs, long delayedNs) {
        int looks = 0;
        while (crowd.isThere()) {
            looks++;
            crowd.learn(THREAD, nowNs + looks * NS, delayedNs, 0);
        }
        return looks;
    }

    /** Makes a communicator believe in a crowd for an hour. */
    static void begin(Comm comm) {
        Crowd crowd = comm.executor().lingering.crowd;
        long laterNs = System.nanoTime() + 3_600_000_000_000L;
        crowd.learn(1, laterNs - 1000, 0, -1);
        crowd.learn(1, laterNs, 1000, -1);
    }

    private static void countsUpwards(LongSupplier counter) {
        long before = counter.getAsLong();
        assertTrue(before >= 0, "the system does not count");
        assertTrue(counter.getAsLong() >= before);
    }

    private static Crowd crowded() {
        Crowd crowd = new Crowd();
        crowd.learn(THREAD, 0, 0, 0);
        crowd.learn(THREAD, NS, NS, 0);
        assertTrue(crowd.isThere());
        return crowd;
    }
}
