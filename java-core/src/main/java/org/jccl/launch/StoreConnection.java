package org.jccl.launch;

import org.jccl.param.Params;
import org.jccl.platform.Errno;
import org.jccl.platform.Memory;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jccl.platform.Threads;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A connection to a launcher's store, for one thread. JCCL_INIT_TIMEOUT is the limit of all waits
 * together; an interrupt of the thread ends them, too.
 */
final class StoreConnection implements AutoCloseable {
    private static final long MS = 1_000_000;
    private static final int LOOK_MS = 20;

    /** A listener that has no room for another connection gives no sign when it has. */
    private static final long FULL_NAP_NS = 5 * MS;

    private static final int ROOM_BYTES = 4096;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment room = arena.allocate(ROOM_BYTES);
    private final String store;
    private final long limitMs = Params.INIT_TIMEOUT.get();
    private final long sinceNs = System.nanoTime();

    /** -1 until there is a socket. */
    private int fd = -1;

    private StoreConnection(String store) {
        this.store = store;
    }

    /** A connection to a Unix socket without a file. */
    static StoreConnection named(String name) {
        StoreConnection connection = new StoreConnection("JCCL_STORE " + name);
        try {
            int fd = Sockets.connectAbstract(name);
            while (fd == -Errno.EAGAIN) {
                connection.ensureTime(false);
                Threads.nap(FULL_NAP_NS);
                fd = Sockets.connectAbstract(name);
            }
            connection.fd = (int) checked(connection.store, fd);
            return connection;
        } catch (RuntimeException | Error e) {
            connection.close();
            throw e;
        }
    }

    /** A connection by TCP. */
    static StoreConnection at(SocketAddress address) {
        StoreConnection connection = new StoreConnection(address.toString());
        try {
            int fd = (int) checked(connection.store, Sockets.socket(address.isIpv6()));
            connection.fd = fd;
            int result = Sockets.connect(fd, address);
            while (result == -Errno.EINPROGRESS) {
                connection.await(Sockets.POLLOUT);
                result = Sockets.connectResult(fd);
            }
            checked(connection.store, result);
            return connection;
        } catch (RuntimeException | Error e) {
            connection.close();
            throw e;
        }
    }

    /** Sends all bytes, at most 4096. */
    void send(byte[] bytes) {
        Memory.copyIn(bytes, 0, room.address(), bytes.length);
        int done = 0;
        while (done < bytes.length) {
            long sent = Sockets.send(fd, room.address() + done, bytes.length - done);
            if (sent == -Errno.EAGAIN) {
                await(Sockets.POLLOUT);
            } else {
                done += (int) checked(store, sent);
            }
        }
    }

    /** The next {@code n} bytes, at most 4096. */
    byte[] receive(int n) {
        int done = 0;
        while (done < n) {
            long got = Sockets.recv(fd, room.address() + done, n - done);
            if (got == -Errno.EAGAIN) {
                await(Sockets.POLLIN);
            } else if (got == 0) {
                throw failed(store, "it has ended the connection");
            } else {
                done += (int) checked(store, got);
            }
        }
        byte[] bytes = new byte[n];
        Memory.copyOut(room.address(), bytes, 0, n);
        return bytes;
    }

    private void await(short events) {
        boolean virtual = Thread.currentThread().isVirtual();
        while (Sockets.pollOne(fd, events, virtual ? 0 : LOOK_MS) <= 0) {
            ensureTime(events == Sockets.POLLIN);
            if (virtual) {
                Threads.nap(MS);
            }
        }
    }

    /**
     * Ends a wait that was interrupted or is too long.
     *
     * @param asked whether the store has the request
     */
    private void ensureTime(boolean asked) {
        if (Thread.currentThread().isInterrupted()) {
            throw ErrorKind.INTERRUPTED.says(
                    "the wait for the launcher's store at %s was interrupted", store);
        }
        if (limitMs <= 0 || System.nanoTime() - sinceNs <= limitMs * MS) {
            return;
        }
        throw asked
                ? ErrorKind.STORE_SILENT.says(
                        "the launcher's store at %s had no id within %s ms: has rank 0 called "
                                + "fromEnvironment as often as this rank? (JCCL_INIT_TIMEOUT sets "
                                + "the limit in seconds)",
                        store, limitMs)
                : ErrorKind.STORE_SILENT.says(
                        "the launcher's store at %s cannot be reached within %s ms: is the "
                                + "launcher that has set the variables still there? "
                                + "(JCCL_INIT_TIMEOUT sets the limit in seconds)",
                        store, limitMs);
    }

    private static long checked(String store, long result) {
        if (result < 0) {
            throw failed(store, Errno.text((int) -result));
        }
        return result;
    }

    private static NcclException failed(String store, String why) {
        return ErrorKind.STORE_FAILED.says(
                "the launcher's store at %s does not answer: %s; is the launcher that has set the "
                        + "variables still there?",
                store, why);
    }

    @Override
    public void close() {
        if (fd >= 0) {
            Sockets.close(fd);
        }
        arena.close();
    }
}
