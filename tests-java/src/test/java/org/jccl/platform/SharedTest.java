package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

final class SharedTest {
    private static final long BYTES = 4096;
    private static final int THREADS = 4;
    private static final int ROUNDS = 2000;

    private final Shared<Integer, SharedMemory> shared = new Shared<>(SharedMemory::close);

    private SharedMemory use(int key) {
        return Objects.requireNonNull(shared.use(key, _ -> SharedMemory.anonymous(BYTES)));
    }

    @Test
    void anotherKeyIsAnotherThing() {
        SharedMemory first = use(1);
        SharedMemory second = use(2);
        assertNotSame(first, second);
        shared.leave(1);
        assertNotSame(first, use(1));
        shared.leave(1);
        shared.leave(2);
    }

    @Test
    void whatCannotBeMadeIsTriedAgain() {
        assertNull(shared.use(1, _ -> null));
        use(1);
        shared.leave(1);
    }

    /** A thread that uses the memory may write to it, while others leave it and use it. */
    @Test
    void threadsThatUseAndLeaveAtTheSameTimeHaveOneThing() throws Exception {
        CyclicBarrier together = new CyclicBarrier(THREADS);
        AtomicInteger open = new AtomicInteger();
        SharedMemory[] seen = new SharedMemory[THREADS];
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

    private Void rounds(int thread, CyclicBarrier together, SharedMemory[] seen, AtomicInteger open)
            throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            int key = round / 2;
            together.await();
            SharedMemory mine = use(key);
            open.getAndIncrement();
            seen[thread] = mine;
            Memory.putLong(mine.address() + 8L * thread, round);
            together.await();
            assertSame(seen[0], mine);
            assertEquals(round, Memory.getLong(mine.address() + 8L * thread));
            together.await();
            shared.leave(key);
            open.getAndDecrement();
        }
        return null;
    }
}
