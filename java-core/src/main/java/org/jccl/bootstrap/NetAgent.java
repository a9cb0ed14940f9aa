package org.jccl.bootstrap;

import org.jccl.log.Log;
import org.jccl.platform.Errno;
import org.jccl.platform.Sockets;
import org.jccl.platform.Wakeup;
import org.jccl.type.ErrorKind;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * The loop of the thread jccl-net: polls connections and runs commands of other threads. All state
 * of the connections belongs to this thread.
 */
final class NetAgent implements Runnable {
    private static final long MS_NS = 1_000_000;
    private static final long LONGEST_SLEEP_NS = 60_000 * MS_NS;

    private final Wakeup wakeup = new Wakeup();
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();
    final List<Pollable> served = new ArrayList<>();
    private MemorySegment pollfds = MemorySegment.NULL;

    /**
     * Runs a command on the thread jccl-net. A connection that comes later may be served before it,
     * in the turn that is under way.
     */
    void submit(Runnable command) {
        commands.add(command);
        wakeup.signal();
    }

    /** Serves a connection from now on; called on the thread jccl-net. */
    void serve(Pollable connection) {
        served.add(connection);
    }

    @Override
    public void run() {
        while (wakeup.fd() >= 0) {
            try {
                turn();
            } catch (RuntimeException | Error failure) {
                // The thread goes on: without it nobody could connect to this process.
                Log.survived("jccl-net goes on after: ", failure);
                LockSupport.parkNanos(Pollable.PAUSE_NS);
            }
        }
    }

    /** Closes everything served and ends the loop; called on its thread, or before it runs. */
    void close() {
        served.forEach(Pollable::close);
        wakeup.close();
    }

    private void turn() {
        int n = served.size();
        long entries = entries(n + 1);
        Sockets.setPollfd(entries, 0, wakeup.fd(), Sockets.POLLIN);
        long begunNs = System.nanoTime();
        long sleepNs = LONGEST_SLEEP_NS;
        for (int i = 0; i < n; i++) {
            Pollable each = served.get(i);
            int fd = each.rests() ? -1 : each.fd;
            Sockets.setPollfd(entries, i + 1, fd, each.events());
            long dueNs = each.dueNs();
            if (dueNs != Pollable.NEVER) {
                sleepNs = Math.min(sleepNs, dueNs - begunNs);
            }
        }
        int sleepMs = (int) Math.max(0, sleepNs / MS_NS + 1);
        int ready = Sockets.poll(entries, n + 1, sleepMs);
        if (ready < 0 && ready != -Errno.EINTR) {
            throw ErrorKind.SYSTEM_CALL.says("poll: %s", Errno.text(-ready));
        }
        wakeup.drain();
        runCommands();
        long now = System.nanoTime();
        for (int i = 0; i < n; i++) {
            boolean active = ready > 0 && Sockets.pollResult(entries, i + 1) != 0;
            served.get(i).serve(active, now);
        }
        served.removeIf(Pollable::done);
    }

    private void runCommands() {
        for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
            try {
                command.run();
            } catch (RuntimeException | Error failure) {
                Log.survived("jccl-net failed to run a command: ", failure);
            }
        }
    }

    private long entries(int n) {
        long bytes = (long) n * Sockets.POLLFD_BYTES;
        if (pollfds.byteSize() < bytes) {
            pollfds = Arena.ofAuto().allocate(2 * bytes, 8);
        }
        return pollfds.address();
    }
}
