package org.jccl.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.FutureTask;

@Timeout(20) // what it waits for may never come
class SystemTest {
    private static final int EPERM = 1;
    private static final int EEXIST = 17;
    private static final int ENOSYS = 38;
    private static final int POLLNVAL = 32;

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
        assertEquals(self.startTime(), startTime(self.pid()));
        assertEquals(
                Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim(), self.bootId());
        assertFalse(self.hostName().isEmpty());
    }

    @Test
    void yieldsAndKnowsItsThread() {
        Threads.yield();
        assertTrue(
                Files.exists(Path.of("/proc/self/task/" + Threads.id())),
                "not a thread of this process");
    }

    @Test
    void seesTheEndOfAProcess() throws Exception {
        seesTheEnd(0);
    }

    @ParameterizedTest
    @ValueSource(ints = {ENOSYS, EPERM})
    void seesTheEndOfAProcessWherePidfdsAreRefused(int errno) throws Exception {
        withoutPidfds(errno, () -> seesTheEnd(errno));
    }

    private interface Check {
        void run() throws Exception;
    }

    /** Does something in a thread to which the system refuses pidfds. */
    private static void withoutPidfds(int errno, Check what) throws Exception {
        FutureTask<Void> refused =
                new FutureTask<>(
                        () -> {
                            Filter.refuse(SystemCall.PIDFD_OPEN, errno);
                            assertEquals(-errno, SystemCall.call(SystemCall.PIDFD_OPEN, 1, 0));
                            what.run();
                            return null;
                        });
        new Thread(refused).start();
        refused.get();
    }

    /** A process that nobody has waited for has ended all the same. */
    private static void seesTheEnd(int refusal) throws Exception {
        Process shell =
                new ProcessBuilder("sh", "-c", "sleep 600 & echo $!; kill -STOP $$").start();
        int pid = Integer.parseInt(shell.inputReader().readLine());
        // Until then it is the shell's fork, which the program replaces.
        while (!Files.readString(Path.of("/proc/" + pid + "/cmdline")).startsWith("sleep")) {
            Thread.sleep(1);
        }
        try (ProcessWatch child = watch(pid);
                ProcessWatch parent = watch((int) shell.pid())) {
            assertEquals(refusal, child.refusal());
            assertRuns(child);
            assertRuns(child);
            while (state((int) shell.pid()) != 'T') {
                Thread.sleep(1);
            }
            ProcessHandle.of(pid).orElseThrow().destroyForcibly();
            while (state(pid) != 'Z') {
                Thread.sleep(1);
            }
            assertEnded(child);
            assertRuns(parent);
            shell.destroyForcibly();
            shell.waitFor();
            assertEnded(parent);
            assertEnded(child);
        }
    }

    private static char state(int pid) throws IOException {
        String status = Files.readString(Path.of("/proc/" + pid + "/stat"));
        return status.charAt(status.lastIndexOf(')') + 2);
    }

    private static void assertRuns(ProcessWatch watch) {
        assertFalse(watch.ended());
        assertFalse(watch.readsAnother());
    }

    private static void assertEnded(ProcessWatch watch) throws Exception {
        assertTrue(watch.ended());
        // A look of the kernel's, or of another process, at the memory may hold it a little.
        while (!watch.readsAnother()) {
            Thread.sleep(1);
        }
    }

    private static ProcessWatch watch(int pid) {
        return Objects.requireNonNull(ProcessWatch.open(pid, startTime(pid)));
    }

    private static long startTime(int pid) {
        int status = ProcessIdentity.openStatus(pid);
        long time = ProcessIdentity.startTimeIn(status);
        Descriptors.close(status);
        return time;
    }

    @Test
    void seesThatAProcessBecomesAnotherProgram() throws Exception {
        seesAnotherProgram(0);
    }

    @Test
    void seesThatAProcessBecomesAnotherProgramWherePidfdsAreRefused() throws Exception {
        withoutPidfds(EPERM, () -> seesAnotherProgram(EPERM));
    }

    private static void seesAnotherProgram(int refusal) throws Exception {
        Process shell =
                new ProcessBuilder("sh", "-c", "read go; exec sh -c 'read go; exec sleep 600'")
                        .start();
        ProcessWatch first = watch((int) shell.pid());
        assertEquals(refusal, first.refusal());
        assertRuns(first);
        ProcessWatch second = next(shell, first);
        ProcessWatch third = next(shell, second);
        shell.destroyForcibly();
        shell.waitFor();
        for (ProcessWatch each : List.of(first, second, third)) {
            assertEnded(each);
            assertFalse(each.replaced());
            each.close();
        }
    }

    /** The shell becomes its next program; the watch of this one, which it has not left. */
    private static ProcessWatch next(Process shell, ProcessWatch before) throws Exception {
        shell.outputWriter().write("go\n");
        shell.outputWriter().flush();
        while (!before.ended()) {
            Thread.sleep(1);
        }
        assertTrue(before.replaced());
        ProcessWatch after = watch((int) shell.pid());
        assertRuns(after);
        assertEnded(before);
        return after;
    }

    @Test
    void thoseWhoWatchAProcessShareADescriptor() throws Exception {
        Process child = new ProcessBuilder("sleep", "600").start();
        ProcessWatch first = watch((int) child.pid());
        ProcessWatch second = watch((int) child.pid());
        assertSame(first, second);
        first.close();
        assertRuns(second);
        long startTime = startTime((int) child.pid());
        child.destroyForcibly();
        child.waitFor();
        assertEnded(second);
        assertNull(ProcessWatch.open((int) child.pid(), startTime));
        second.close();
    }

    @Test
    void watchesNoProcessThatDoesNotExist() {
        assertNull(ProcessWatch.open(Integer.MAX_VALUE, 1));
        ProcessIdentity self = ProcessIdentity.current();
        assertNull(ProcessWatch.open(self.pid(), self.startTime() + 1));
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
        int fd = ForkGuard.open(SystemCall.EVENTFD2, 0, 0, 0, 0);
        assertTrue(fd >= 0, Errno.text(-fd));
        ForkGuard.close(fd);
        assertEquals(POLLNVAL, Sockets.pollOne(fd, Sockets.POLLIN, 0));
    }
}
