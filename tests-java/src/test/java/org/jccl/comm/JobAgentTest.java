package org.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A job belongs to one thread at a time, and to none after its end. */
final class JobAgentTest {
    private static final int JOBS = 40;
    private static final int STEPS = 60;

    private final AtomicInteger intruders = new AtomicInteger();
    private final CountDownLatch ends = new CountDownLatch(JOBS);

    private final class Counted implements Job {
        private final AtomicInteger users = new AtomicInteger();
        private volatile boolean over;
        private int steps;

        @Override
        public boolean advance() {
            use();
            steps++;
            return steps == STEPS;
        }

        @Override
        public void awaitActivity(int maxMs) {
            use();
        }

        @Override
        public void ended(@Nullable NcclException why) {
            over = true;
            ends.countDown();
        }

        private void use() {
            boolean alone = users.getAndIncrement() == 0 && !over;
            Thread.yield();
            if (!alone || over) {
                intruders.incrementAndGet();
            }
            users.getAndDecrement();
        }
    }

    @Test
    void jobBelongsToOneThreadAtATime() throws InterruptedException {
        List<Job> jobs = new ArrayList<>();
        for (int i = 0; i < JOBS; i++) {
            jobs.add(new Counted());
        }
        jobs.forEach(JobAgent::start);
        assertTrue(ends.await(5, TimeUnit.MINUTES), "jobs do not end");
        assertEquals(0, intruders.get(), "uses beside another, or after the end");
    }
}
