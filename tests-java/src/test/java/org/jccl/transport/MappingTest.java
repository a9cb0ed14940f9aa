package org.jccl.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.jccl.platform.Memory;
import org.jccl.platform.ProcessIdentity;
import org.jccl.platform.SharedMemory;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

final class MappingTest {
    private static final int PID = ProcessIdentity.current().pid();
    private static final long BYTES = 4096;
    private static final int THREADS = 4;
    private static final int ROUNDS = 2000;

    private static long nonce() {
        return ThreadLocalRandom.current().nextLong();
    }

    @Test
    void aProcessMapsARegionOnceUntilTheLastRankHasClosedIt() {
        long nonce = nonce();
        Region own = Region.create(3, 1, nonce, 7);
        Region mate = Region.open(3, 1, PID, own.descriptor(), nonce, 7);
        Region other = Region.open(3, 1, PID, own.descriptor(), nonce, 7);
        assertEquals(own.base(), mate.base());
        assertEquals(own.base(), other.base());
        own.close();
        own.close();
        mate.close();
        Memory.putLong(other.base() + RegionLayout.STATUS, 5);
        assertEquals(5, other.status());
        other.close();
    }

    @Test
    void ranksOfAProcessShareWhereTheSystemRefusesSharedMemory() {
        long nonce = nonce();
        try (Region own = Region.create(2, 0, nonce, 1);
                Region mate = Region.open(2, 0, PID, -1, nonce, 1)) {
            assertEquals(own.base(), mate.base());
        }
    }

    @Test
    void anotherNonceIsOtherMemory() {
        long nonce = nonce();
        Mapping first = Mapping.of(nonce, 1, () -> SharedMemory.anonymous(BYTES));
        Mapping second = Mapping.of(nonce, 2, () -> SharedMemory.anonymous(BYTES));
        assertNotSame(first, second);
        assertNotEquals(first.memory().address(), second.memory().address());
        first.close();
        Mapping again = Mapping.of(nonce, 1, () -> SharedMemory.anonymous(BYTES));
        assertNotSame(first, again);
        again.close();
        second.close();
    }

    /** A thread that has the mapping may write to it, while others close and map. */
    @Test
    void threadsThatOpenAndCloseAtTheSameTimeHaveOneMapping() throws Exception {
        CyclicBarrier together = new CyclicBarrier(THREADS);
        AtomicInteger open = new AtomicInteger();
        Mapping[] seen = new Mapping[THREADS];
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Future<?>> all = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                int thread = t;
                all.add(threads.submit(() -> rounds(thread, together, seen, open)));
            }
            for (Future<?> each : all) {
                each.get();
            }
        }
        assertEquals(0, open.get());
    }

    private static Void rounds(
            int thread, CyclicBarrier together, Mapping[] seen, AtomicInteger open)
            throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            long nonce = 0x5eed0000L + round / 2;
            together.await();
            Mapping mine = Mapping.of(nonce, 3, () -> SharedMemory.anonymous(BYTES));
            open.getAndIncrement();
            seen[thread] = mine;
            Memory.putLong(mine.memory().address() + 8L * thread, round);
            together.await();
            assertSame(seen[0], mine);
            assertEquals(round, Memory.getLong(mine.memory().address() + 8L * thread));
            together.await();
            mine.close();
            open.getAndDecrement();
        }
        return null;
    }
}
