package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class SystemTest {
    private static final int EEXIST = 17;

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
    void looksAtManyDescriptorsAsOne() {
        try (Epoll many = new Epoll(2);
                Wakeup first = new Wakeup();
                Wakeup second = new Wakeup();
                Wakeup third = new Wakeup()) {
            List<Wakeup> all = List.of(first, second, third);
            all.forEach(each -> assertEquals(0, many.add(each.fd())));
            assertEquals(-EEXIST, many.add(first.fd()));
            assertEquals(0, Sockets.pollOne(many.fd(), Sockets.POLLIN, 0));
            assertEquals(0, many.look());
            second.signal();
            assertEquals(Sockets.POLLIN, Sockets.pollOne(many.fd(), Sockets.POLLIN, 0));
            assertEquals(1, many.look());
            assertEquals(second.fd(), many.found(0));
            first.signal();
            third.signal();
            assertEquals(2, many.look());
            many.remove(second.fd());
            assertEquals(2, many.look());
            assertEquals(first.fd() + third.fd(), many.found(0) + many.found(1));
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
