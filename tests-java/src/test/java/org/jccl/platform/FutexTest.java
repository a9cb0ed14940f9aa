package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

import java.time.Duration;

class FutexTest {
    private static final long MINUTE_NS = 60_000_000_000L;

    @Test
    void returnsAtOnceWhenTheWordHasChanged() {
        try (SharedMemory memory = SharedMemory.create(4_096, 4_096)) {
            Memory.putInt(memory.address(), 1);
            assertTimeoutPreemptively(
                    Duration.ofSeconds(30), () -> Futex.await(memory.address(), 0, MINUTE_NS));
        }
    }

    @Test
    void returnsWhenItsTimeIsOver() {
        try (SharedMemory memory = SharedMemory.create(4_096, 4_096)) {
            long start = System.nanoTime();
            Futex.await(memory.address(), 0, 2_000_000);
            assertTrue(System.nanoTime() > start, "the clock stands still");
            Futex.await(memory.address(), 0, 0);
            Futex.await(memory.address(), 0, -1);
            assertEquals(0, Memory.getInt(memory.address()));
        }
    }

    /** The waker's fast path has no fence: the sleeper's barrier makes the hand-over lossless. */
    @RepeatedTest(20)
    void losesNoWakeUpWithTheSleepersBarrier() throws Exception {
        Membarrier.register();
        assertTrue(Membarrier.REGISTERED, "this system has no expedited membarrier");
        try (SharedMemory memory = SharedMemory.create(4_096, 4_096)) {
            long flag = memory.address();
            long waiters = memory.address() + 128;
            Thread waker =
                    new Thread(
                            () -> {
                                for (int i = 1; i <= 2_000; i++) {
                                    Memory.putIntRelease(flag, i);
                                    if (Memory.getIntAcquire(waiters) != 0) {
                                        Futex.wake(flag, 1);
                                    }
                                    while (Memory.getIntAcquire(flag) == i) {
                                        Threads.yield();
                                    }
                                }
                            });
            waker.setDaemon(true);
            waker.start();
            for (int i = 1; i <= 2_000; i++) {
                awaitValue(flag, waiters, i);
                Memory.putIntRelease(flag, -i);
            }
            waker.join(60_000);
            assertEquals(Thread.State.TERMINATED, waker.getState());
        }
    }

    private static void awaitValue(long flag, long waiters, int value) {
        while (Memory.getIntAcquire(flag) != value) {
            Memory.putIntRelease(waiters, 1);
            Membarrier.full();
            int seen = Memory.getIntAcquire(flag);
            if (seen != value) {
                Futex.await(flag, seen, MINUTE_NS);
            }
            Memory.putIntRelease(waiters, 0);
        }
    }
}
