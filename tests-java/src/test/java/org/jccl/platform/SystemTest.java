package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;

class SystemTest {
    @Test
    void readsTheEnvironment() {
        assertEquals(System.getenv("PATH"), Environment.get("PATH"));
        assertNull(Environment.get("JCCL_NO_SUCH_VARIABLE"));
    }

    @Test
    void knowsItself() throws Exception {
        ProcessIdentity self = ProcessIdentity.current();
        assertEquals(ProcessHandle.current().pid(), self.pid());
        assertNotEquals(0, self.startTime());
        assertEquals(self.startTime(), ProcessIdentity.startTimeOf(self.pid()));
        assertEquals(
                Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim(), self.bootId());
        assertNotEquals(0, self.networkNamespace());
        assertFalse(self.hostName().isEmpty());
    }

    @Test
    void yieldsAndCountsProcessors() {
        Threads.yield();
        assertTrue(Threads.processorCount() >= 1);
        assertTrue(
                Files.exists(Path.of("/proc/self/task/" + Threads.id())),
                "not a thread of this process");
    }

    @Test
    void seesTheEndOfAProcess() throws Exception {
        Process child = new ProcessBuilder("sleep", "600").start();
        int pidfd = Pidfd.open((int) child.pid());
        assertTrue(pidfd >= 0, "pidfd_open: " + pidfd);
        assertFalse(Pidfd.hasExited(pidfd));
        child.destroyForcibly();
        child.waitFor();
        assertTrue(Pidfd.hasExited(pidfd));
        Pidfd.close(pidfd);
    }

    @Test
    void namesTheErrorOfAProcessThatDoesNotExist() {
        assertEquals(-Errno.ESRCH, Pidfd.open(Integer.MAX_VALUE));
        assertEquals("No such process (errno 3)", Errno.text(Errno.ESRCH));
    }

    @Test
    void wakesAPollOnce() {
        try (Wakeup wakeup = new Wakeup()) {
            assertEquals(0, Sockets.pollOne(wakeup.fd(), Sockets.POLLIN, 0));
            wakeup.signal();
            wakeup.signal();
            assertEquals(Sockets.POLLIN, Sockets.pollOne(wakeup.fd(), Sockets.POLLIN, 0));
            wakeup.drain();
            assertEquals(0, Sockets.pollOne(wakeup.fd(), Sockets.POLLIN, 0));
        }
    }

    @Test
    void tracksDescriptorsWithoutTheLibrary() {
        boolean begun = ForkGuard.begin();
        assertFalse(begun);
        ForkGuard.track(begun, 0);
        ForkGuard.untrack(begun, 0);
        ForkGuard.end(begun);
    }
}
