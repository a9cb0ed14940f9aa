package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.harness.Deadline;
import org.jccl.platform.Wakeup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The thread jccl-net outlives what goes wrong on it. */
@ExtendWith(Deadline.class)
class NetAgentTest {
    private final NetAgent agent = new NetAgent();
    private final Thread thread = new Thread(agent, "jccl-net-test");

    @BeforeEach
    void start() {
        thread.start();
    }

    @AfterEach
    void stop() throws InterruptedException {
        agent.submit(agent::close);
        thread.join();
    }

    /** A descriptor that is ready at once and answers with this Error. */
    private static final class Failing extends Pollable {
        final CountDownLatch closed = new CountDownLatch(1);
        private final Wakeup ready;
        private final Error failure;

        Failing(Wakeup ready, Error failure) {
            super(ready.fd());
            this.ready = ready;
            this.failure = failure;
            ready.signal();
        }

        @Override
        void ready(long nowNs) {
            throw failure;
        }

        @Override
        void release() {
            closed.countDown();
            ready.close();
        }
    }

    @Test
    void aConnectionThatFailsIsDroppedAlone() throws Exception {
        Failing first = new Failing(new Wakeup(), new StackOverflowError("planted"));
        Failing second = new Failing(new Wakeup(), new OutOfMemoryError("planted"));
        agent.submit(
                () -> {
                    agent.serve(first);
                    agent.serve(second);
                });
        assertTrue(first.closed.await(2, TimeUnit.MINUTES));
        assertTrue(second.closed.await(2, TimeUnit.MINUTES));
        assertStillRunsCommands();
    }

    @Test
    void aCommandThatFailsKeepsNoOtherFromRunning() throws Exception {
        agent.submit(
                () -> {
                    throw new OutOfMemoryError("planted");
                });
        assertStillRunsCommands();
    }

    private void assertStillRunsCommands() throws InterruptedException {
        CountDownLatch ran = new CountDownLatch(1);
        agent.submit(ran::countDown);
        assertTrue(ran.await(2, TimeUnit.MINUTES));
        assertTrue(thread.isAlive());
    }
}
