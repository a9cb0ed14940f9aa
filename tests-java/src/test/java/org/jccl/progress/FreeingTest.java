package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.log.LastError;
import org.jccl.platform.Threads;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;

/** Who hears of a communicator that could not be freed. */
final class FreeingTest {
    private static final String BEFORE = "said before";
    private static final long SOON_NS = 60_000_000_000L;

    private final CountDownLatch device = new CountDownLatch(1);

    @BeforeEach
    void setLastError() {
        LastError.set(BEFORE);
    }

    @Test
    void itsCallerIfThatStillWaits() {
        Parting.Freeing freeing = new Parting.Freeing(FreeingTest::fail);
        freeing.run();
        assertTrue(freeing.await(SOON_NS));
        assertEquals(Future.State.FAILED, freeing.state());
        assertEquals(BEFORE, LastError.get());
    }

    @Test
    void theLogIfNobodyWaitsAnyMore() throws InterruptedException {
        Parting.Freeing freeing =
                new Parting.Freeing(
                        () -> {
                            awaitDevice();
                            fail();
                        });
        Thread thread = Threads.daemon("frees", freeing);
        thread.start();
        assertFalse(freeing.await(1_000_000));
        device.countDown();
        thread.join();
        assertTrue(LastError.get().startsWith("a communicator was not freed: "), LastError::get);
    }

    private void awaitDevice() {
        try {
            device.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void fail() {
        throw new IllegalStateException("as told");
    }
}
