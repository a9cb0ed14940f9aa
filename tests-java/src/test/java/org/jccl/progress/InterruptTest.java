package org.jccl.progress;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.bootstrap.Rendezvous;
import org.jccl.comm.Comm;
import org.jccl.comm.Creation;
import org.jccl.type.NcclConfig;
import org.junit.jupiter.api.Test;

/** The guarantees to a thread that has interrupted a communicator. */
final class InterruptTest {
    private static final long WHILE_OWNED_MS = 200;
    private static final long SOON_MS = 120_000;

    @Test
    void itReturnsOnlyWhenNobodyMayBeCopyingIntoBuffersAnyMore() throws InterruptedException {
        Creation creation = Creation.initBlocking(Rendezvous.createId(), 1, 0, NcclConfig.DEFAULT);
        assertTrue(creation.await(0));
        creation.result();
        Comm comm = creation.comm();
        CommExecutor executor = comm.executor();
        Thread interrupting = new Thread(() -> Parting.interrupt(executor), "interrupting");
        assertTrue(executor.gate.tryOwn());
        try {
            interrupting.start();
            interrupting.join(WHILE_OWNED_MS);
            assertTrue(interrupting.isAlive(), "it did not wait for the owner");
        } finally {
            executor.gate.release();
        }
        interrupting.join(SOON_MS);
        assertFalse(interrupting.isAlive());
        assertNotNull(executor.failure());
        comm.abort();
    }
}
