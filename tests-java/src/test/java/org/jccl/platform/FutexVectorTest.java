package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.time.Duration;

final class FutexVectorTest {
    private static final long MINUTE_NS = 60_000_000_000L;
    private static final int APART = 128;

    /** The two halves of an unsigned number. */
    private static final int[] VALUES = {7, -1};

    @BeforeEach
    void requireSystem() {
        assumeTrue(FutexVector.serves(VALUES.length), "this system has no futex_waitv");
    }

    @Test
    void doesNotServeMoreThanTheSystemTakes() {
        assertTrue(FutexVector.serves(128));
        assertFalse(FutexVector.serves(129));
    }

    @Test
    void returnsWhenItsTimeIsOver() {
        try (SharedMemory memory = memory();
                FutexVector words = vector(memory)) {
            words.look();
            assertFalse(words.await(2_000_000));
        }
    }

    @Test
    void returnsAtOnceWhenAnyWordHasChangedSinceTheLook() {
        for (int i = 0; i < VALUES.length; i++) {
            long offset = i * APART;
            try (SharedMemory memory = memory()) {
                assertTimeoutPreemptively(
                        Duration.ofSeconds(30),
                        () -> {
                            try (FutexVector words = vector(memory)) {
                                words.look();
                                Memory.putInt(memory.address() + offset, 1);
                                assertFalse(words.await(MINUTE_NS));
                            }
                        });
            }
        }
    }

    @Test
    void tellsOfAWordThatWasCleared() {
        try (SharedMemory memory = memory();
                FutexVector words = vector(memory)) {
            assertFalse(words.look());
            Memory.putInt(memory.address() + APART, 0);
            assertTrue(words.look());
            assertFalse(words.look());
            Memory.putInt(memory.address() + APART, 1);
            assertFalse(words.look());
        }
    }

    @Test
    void isWokenOnAnyWord() throws InterruptedException {
        for (int i = 0; i < VALUES.length; i++) {
            try (SharedMemory memory = memory()) {
                Thread sleeper = Thread.ofPlatform().daemon().start(() -> sleep(memory));
                // The value stays, so that only a wake ends the sleep.
                while (sleeper.isAlive()) {
                    Futex.wake(memory.address() + (long) i * APART, 1);
                    sleeper.join(1);
                }
            }
        }
    }

    private static void sleep(SharedMemory memory) {
        try (FutexVector words = vector(memory)) {
            words.look();
            assertTrue(words.await(10 * MINUTE_NS));
        }
    }

    private static SharedMemory memory() {
        SharedMemory memory = SharedMemory.create(4_096, 4_096);
        for (int i = 0; i < VALUES.length; i++) {
            Memory.putInt(memory.address() + (long) i * APART, VALUES[i]);
        }
        return memory;
    }

    private static FutexVector vector(SharedMemory memory) {
        FutexVector words = new FutexVector(VALUES.length);
        for (int i = 0; i < VALUES.length; i++) {
            words.set(i, memory.address() + (long) i * APART);
        }
        return words;
    }
}
