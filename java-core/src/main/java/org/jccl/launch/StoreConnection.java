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
    private static final int ROOM_BYTES = 4096;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment room = arena.allocate(ROOM_BYTES);
    private final int fd;
    private final String store;
    private final long limitMs = Params.INIT_TIMEOUT.get();
    private final long sinceNs = System.nanoTime();

    private StoreConnection(int fd, String store) {
        this.fd = fd;
        this.store = store;
    }

    /** A connection to a Unix socket without a file. */
    static StoreConnection named(String name) {
        String store = "JCCL_STORE " + name;
        return new StoreConnection((int) checked(store, Sockets.connectAbstract(name)), store);
    }

    /** A connection by TCP. */
    static StoreConnection at(SocketAddress address) {
        String store = address.toString();
        int fd = (int) checked(store, Sockets.socket(address.isIpv6()));
        StoreConnection connection = new StoreConnection(fd, store);
        try {
            int result = Sockets.connect(fd, address);
            while (result == -Errno.EINPROGRESS) {
                connection.await(Sockets.POLLOUT);
                result = Sockets.connectResult(fd);
            }
            checked(store, result);
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
            if (Thread.currentThread().isInterrupted()) {
                throw ErrorKind.INTERRUPTED.says(
                        "the wait for the launcher's store at %s was interrupted", store);
            }
            if (limitMs > 0 && System.nanoTime() - sinceNs > limitMs * MS) {
                throw ErrorKind.STORE_SILENT.says(
                        "the launcher's store at %s had no id within %s ms: has rank 0 called "
                                + "fromEnvironment as often as this rank? (JCCL_INIT_TIMEOUT sets "
                                + "the limit in seconds)",
                        store, limitMs);
            }
            if (virtual) {
                Threads.nap(MS);
            }
        }
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
        Sockets.close(fd);
        arena.close();
    }
}
