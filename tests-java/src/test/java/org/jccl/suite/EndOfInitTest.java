package org.jccl.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.Communicator;
import org.jccl.harness.Cluster;
import org.jccl.harness.Rank;
import org.jccl.harness.Scenario;
import org.jccl.log.LogTap;
import org.jccl.type.DataType;
import org.jccl.type.NcclResult;
import org.jccl.type.UniqueId;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The moment in which a background job has made a communicator, which its user takes over. */
class EndOfInitTest {
    @Test
    void whoDestroysInTheMomentOfReadinessHasNotAborted() {
        Cluster.processes(1)
                .once()
                .environment("NCCL_DEBUG", "INFO")
                .environment("NCCL_DEBUG_SUBSYS", "INIT,DESTROY")
                .run(DestroysAtOnce.class)
                .assertAllSucceeded();
    }

    /** Rank 1 receives and is destroyed while the job that has made it stands at its last line. */
    public static final class DestroysAtOnce implements Scenario {
        private final CountDownLatch ready = new CountDownLatch(1);
        private final CountDownLatch destroying = new CountDownLatch(1);

        @Override
        public void run(Rank rank) throws Exception {
            UniqueId id = Communicator.uniqueId();
            try (LogTap _ = new LogTap(this::logged);
                    Arena arena = Arena.ofShared()) {
                MemorySegment data = arena.allocate(4);
                Communicator zero = Communicator.initRank(2, id, 0, InitTest.NON_BLOCKING);
                Communicator one = Communicator.initRank(2, id, 1, InitTest.NON_BLOCKING);
                Thread user = new Thread(() -> receiveAndDestroy(one, arena.allocate(4)));
                user.start();
                zero.awaitReady(InitTest.SOON);
                awaits(destroying);
                // The job has gone on by then, and has done nothing to the communicator.
                TimeUnit.MILLISECONDS.sleep(200);
                assertEquals(NcclResult.SUCCESS, zero.asyncError());
                zero.send(data, 1, DataType.INT32, 1);
                zero.awaitReady(InitTest.SOON);
                user.join();
                zero.close();
            }
        }

        private void receiveAndDestroy(Communicator one, MemorySegment data) {
            awaits(ready);
            one.recv(data, 1, DataType.INT32, 0);
            one.close();
        }

        private void logged(String line) {
            if (line.contains("rank 1 nranks 2 - Init COMPLETE")) {
                ready.countDown();
                awaits(destroying);
                parks();
            } else if (line.contains("rank 1 nranks 2 - Destroy START")) {
                destroying.countDown();
            }
        }

        private static void awaits(CountDownLatch latch) {
            try {
                assertTrue(latch.await(60, TimeUnit.SECONDS));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        /** Gives the end that has begun the time to wait for the operation. */
        private static void parks() {
            try {
                TimeUnit.MILLISECONDS.sleep(100);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
