package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.Test;

import java.util.concurrent.atomic.AtomicReference;

final class CoresTest {
    private static final int TURNS = 200;

    @Test
    void threadKeepsToACoreAndOffIt() throws InterruptedException {
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "there is one core only");
        int core = Cores.current();
        inThread(
                () -> {
                    Cores.keepTo(core);
                    for (int turn = 0; turn < TURNS; turn++) {
                        assertEquals(core, Cores.current());
                        Threads.yield();
                    }
                    Cores.keepOff(core);
                    for (int turn = 0; turn < TURNS; turn++) {
                        assertNotEquals(core, Cores.current());
                        Threads.yield();
                    }
                });
    }

    /** No process may use it. */
    @Test
    void coreThatThereIsNotChangesNothing() throws InterruptedException {
        int core = Cores.current();
        inThread(
                () -> {
                    Cores.keepTo(core);
                    for (int none : new int[] {-1, 1023, 1024}) {
                        Cores.keepTo(none);
                        for (int turn = 0; turn < TURNS; turn++) {
                            assertEquals(core, Cores.current());
                            Threads.yield();
                        }
                    }
                });
    }

    /** The test's own thread keeps its freedom. */
    private static void inThread(Runnable body) throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread = Thread.ofPlatform().unstarted(body);
        thread.setUncaughtExceptionHandler((failed, cause) -> failure.set(cause));
        thread.start();
        thread.join();
        assertEquals(null, failure.get());
    }
}
