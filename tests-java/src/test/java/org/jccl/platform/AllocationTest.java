package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.management.ThreadMXBean;

import org.junit.jupiter.api.Test;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Calls that waits and transfers make again and again leave nothing for the collector. */
class AllocationTest {
    private static final int CALLS = 20_000;

    /** Enough for a compiler that has to share its core, and its queue with other tests. */
    private static final Duration LIMIT = Duration.ofMinutes(5);

    @Test
    void waitsAndTransfersAllocateNothing() {
        try (SharedMemory memory = SharedMemory.create(4_096, 4_096);
                Wakeup wakeup = new Wakeup()) {
            long at = memory.address();
            int socket = Sockets.socket(false);
            ProcessWatch self = watchSelf();
            assertAllocatesNothing(
                    () -> {
                        Memory.putIntRelease(at, Memory.getAndAddInt(at + 4, 1));
                        Memory.putLongRelease(at + 8, Memory.getLongAcquire(at + 16));
                        Memory.copy(at, at + 1_024, 512);
                        waitOnce(at, self);
                    });
            assertAllocatesNothing(() -> Sockets.pollOne(wakeup.fd(), Sockets.POLLIN, 0));
            assertAllocatesNothing(() -> Sockets.send(socket, at, 8));
            Memory.putRange(at + 2_048, at, 8);
            assertAllocatesNothing(() -> Sockets.sendRanges(socket, at + 2_048, 1));
            assertAllocatesNothing(() -> Sockets.recv(socket, at, 8));
            Sockets.close(socket);
            self.close();
        }
    }

    /** A wait that turns slow for the first time runs in the interpreter: that is no excuse. */
    @Test
    void waitsAllocateNothingBeforeTheyAreCompiled() throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xint", "--enable-native-access=ALL-UNNAMED", "-cp"));
        command.addAll(List.of(classPath(), InterpretedWaits.class.getName()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertEquals(0, process.waitFor(), output);
        assertEquals("0 bytes\n", output);
    }

    /** Surefire hides the class path in a manifest and says here what it was. */
    private static String classPath() {
        String path = System.getProperty("surefire.test.class.path");
        return path != null ? path : System.getProperty("java.class.path");
    }

    /** Prints how much a thousand waits allocate. */
    static final class InterpretedWaits {
        private InterpretedWaits() {}

        public static void main(String[] args) {
            try (SharedMemory memory = SharedMemory.create(4_096, 4_096)) {
                ProcessWatch self = watchSelf();
                // Java tailors a method handle to its caller after 127 calls.
                for (int i = 0; i < 300; i++) {
                    waitOnce(memory.address(), self);
                }
                ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
                long nothing = threads.getCurrentThreadAllocatedBytes();
                nothing = threads.getCurrentThreadAllocatedBytes() - nothing;
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < 1000; i++) {
                    waitOnce(memory.address(), self);
                }
                long bytes = threads.getCurrentThreadAllocatedBytes() - before - nothing;
                System.out.print(bytes + " bytes\n");
            }
        }
    }

    private static ProcessWatch watchSelf() {
        ProcessIdentity self = ProcessIdentity.current();
        return Objects.requireNonNull(ProcessWatch.open(self.pid(), self.startTime()));
    }

    /** The work of a wait that has become slow. */
    private static void waitOnce(long at, ProcessWatch self) {
        Threads.yield();
        Futex.wake(at, 1);
        Futex.await(at, Memory.getInt(at) + 1, 1_000);
        Membarrier.full();
        self.ended();
        Memory.getAndSetInt(at, 0);
        Memory.putLongRelease(at + 8, Memory.getLongAcquire(at + 16));
    }

    private static void assertAllocatesNothing(Runnable calls) {
        long end = System.nanoTime() + LIMIT.toNanos();
        long perCall = perCall(calls);
        while (perCall != 0 && System.nanoTime() - end < 0) {
            perCall = perCall(calls);
        }
        assertEquals(0, perCall, "bytes per call");
    }

    private static long perCall(Runnable calls) {
        long before = allocated();
        for (int i = 0; i < CALLS; i++) {
            calls.run();
        }
        return (allocated() - before) / CALLS;
    }

    private static long allocated() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        return threads.getCurrentThreadAllocatedBytes();
    }
}
