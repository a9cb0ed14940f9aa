package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;

import org.junit.jupiter.api.Test;

import java.lang.management.ManagementFactory;

/** What waits and transfers call again and again leaves nothing for the collector. */
class AllocationTest {
    private static final int CALLS = 20_000;

    @Test
    void waitsAndTransfersAllocateNothing() {
        try (SharedMemory memory = SharedMemory.create(4_096);
                Wakeup wakeup = new Wakeup()) {
            long at = memory.address();
            int socket = Sockets.socket(false);
            int self = Pidfd.open(ProcessIdentity.current().pid());
            Runnable calls =
                    () -> {
                        Memory.putIntRelease(at, Memory.getAndAddInt(at + 4, 1));
                        Memory.putLongRelease(at + 8, Memory.getLongAcquire(at + 16));
                        Memory.copy(at, at + 1_024, 512);
                        Futex.wake(at, 1);
                        Futex.await(at, Memory.getInt(at) + 1, 1_000);
                        Membarrier.full();
                        Threads.yield();
                        Pidfd.hasExited(self);
                        Sockets.send(socket, at, 8);
                        Sockets.sendTwo(socket, at, 8, at, 8);
                        Sockets.recv(socket, at, 8);
                        Sockets.pollOne(wakeup.fd(), Sockets.POLLIN, 0);
                    };
            repeat(calls);
            repeat(calls);
            long before = allocated();
            repeat(calls);
            long perCall = (allocated() - before) / CALLS;
            assertEquals(0, perCall, "bytes per call");
            Sockets.close(socket);
            Pidfd.close(self);
        }
    }

    private static void repeat(Runnable calls) {
        for (int i = 0; i < CALLS; i++) {
            calls.run();
        }
    }

    private static long allocated() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        return threads.getCurrentThreadAllocatedBytes();
    }
}
