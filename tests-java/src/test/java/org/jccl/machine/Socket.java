package org.jccl.machine;

import org.jccl.platform.Errno;
import org.jccl.platform.Memory;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;

/**
 * A simulated TCP socket. Bytes, the end of the stream and a reset travel in order, each for a
 * while; a socket that is closed with unread bytes, or that gets some afterwards, resets.
 */
final class Socket implements Kernel.Descriptor {
    static final int POLLIN = 1;
    static final int POLLOUT = 4;
    static final int POLLERR = 8;
    static final int POLLHUP = 16;
    private static final int EPIPE = 32;
    private static final int ECONNRESET = 104;
    private static final int ENOTCONN = 107;

    /** Bytes that may be under way or unread in one direction. */
    private static final int WINDOW_BYTES = 256 * 1024;

    private final Network network;
    private final SimulatedProcess process;
    private final ArrayDeque<Socket> backlog = new ArrayDeque<>();
    private final ArrayDeque<byte[]> in = new ArrayDeque<>();
    private byte[] address = new byte[0];
    private byte[] remote = new byte[0];
    private int descriptor;
    private int port;
    private int inOffset;
    private int unread;
    private int underWay;
    private int error;
    private boolean listening;
    private boolean begun;
    private boolean ended;
    private boolean reset;
    private boolean finished;
    private boolean closed;
    private long lastArrivalNs;
    private @Nullable Socket peer;

    Socket(Network network, SimulatedProcess process) {
        this.network = network;
        this.process = process;
    }

    int port() {
        return port;
    }

    boolean closed() {
        return closed;
    }

    boolean unconnected() {
        return !begun && !listening;
    }

    int named(int fd) {
        descriptor = fd;
        return fd;
    }

    // ---- connecting ----

    void bind(long sockaddr, int itsPort) {
        port = itsPort;
        address = sockaddr(sockaddr, itsPort);
    }

    private static byte[] sockaddr(long from, int port) {
        byte[] bytes = new byte[28];
        Memory.copyOut(from, bytes, 0, bytes.length);
        bytes[2] = (byte) (port >> 8);
        bytes[3] = (byte) port;
        return bytes;
    }

    long listen() {
        listening = true;
        return 0;
    }

    void connecting(long sockaddr, int ownPort) {
        begun = true;
        int to = Short.toUnsignedInt(Short.reverseBytes(Memory.getShort(sockaddr + 2)));
        remote = sockaddr(sockaddr, to);
        address = sockaddr(sockaddr, ownPort);
    }

    void fail(int errno) {
        error = errno;
        process.changed();
    }

    /** A client has come to this listener. */
    void offer(Socket client) {
        Socket served = new Socket(network, process);
        served.begun = true;
        served.address = client.remote;
        served.remote = client.address;
        served.peer = client;
        client.peer = served;
        backlog.add(served);
        process.changed();
        client.process.changed();
    }

    @Nullable Socket accept() {
        return backlog.poll();
    }

    // ---- bytes ----

    long send(long from, long bytes) {
        if (error != 0) {
            return -takeError();
        }
        Socket other = peer;
        if (other == null || finished) {
            return reset || finished ? -EPIPE : -ENOTCONN;
        }
        int room = WINDOW_BYTES - underWay - other.unread;
        int taken = (int) Math.min(room, bytes);
        if (taken <= 0) {
            return bytes == 0 ? 0 : -Errno.EAGAIN;
        }
        byte[] content = new byte[taken];
        Memory.copyOut(from, content, 0, taken);
        underWay += taken;
        process.sent(taken);
        travel(
                () -> {
                    underWay -= taken;
                    other.arrive(content);
                });
        return taken;
    }

    long sendVectors(long vectors, long n) {
        long total = 0;
        for (int i = 0; i < n; i++) {
            long bytes = Memory.getLong(vectors + 16L * i + 8);
            long sent = send(Memory.getLong(vectors + 16L * i), bytes);
            if (sent < 0) {
                return total == 0 ? sent : total;
            }
            total += sent;
            if (sent < bytes) {
                break;
            }
        }
        return total;
    }

    /** Something that arrives at the other end, after all that was sent before. */
    private void travel(Runnable arrival) {
        Machine machine = network.machine();
        lastArrivalNs = Math.max(lastArrivalNs + 1, machine.nowNs() + network.delay());
        machine.at(lastArrivalNs, arrival);
    }

    private void arrive(byte[] content) {
        if (closed) {
            sendReset();
        } else if (!reset) {
            in.add(content);
            unread += content.length;
            process.changed();
        }
    }

    long receive(long to, long bytes) {
        long done = 0;
        while (done < bytes && !in.isEmpty()) {
            byte[] head = in.peek();
            int n = (int) Math.min(head.length - inOffset, bytes - done);
            if (to != 0) {
                Memory.copyIn(head, inOffset, to + done, n);
            }
            done += n;
            inOffset += n;
            if (inOffset == head.length) {
                in.remove();
                inOffset = 0;
            }
        }
        unread -= (int) done;
        if (done > 0) {
            Socket other = peer;
            if (other != null) {
                other.process.changed();
            }
            return done;
        }
        if (error != 0) {
            return -takeError();
        }
        if (reset || ended) {
            return 0;
        }
        return peer == null ? -ENOTCONN : -Errno.EAGAIN;
    }

    // ---- the end ----

    long shutdown() {
        if (peer == null) {
            return -ENOTCONN;
        }
        sendEnd();
        return 0;
    }

    private void sendEnd() {
        Socket other = peer;
        if (other != null && !finished) {
            finished = true;
            travel(
                    () -> {
                        other.ended = true;
                        other.process.changed();
                    });
        }
    }

    private void sendReset() {
        Socket other = peer;
        if (other != null) {
            finished = true;
            travel(other::beReset);
        }
    }

    private void beReset() {
        if (!closed && !reset) {
            reset = true;
            finished = true;
            error = ECONNRESET;
            process.changed();
        }
    }

    @Override
    public void close() {
        closed = true;
        if (listening) {
            network.unbind(this);
            backlog.forEach(Socket::close);
        } else if (unread > 0) {
            sendReset();
        } else {
            sendEnd();
        }
    }

    // ---- queries ----

    @Override
    public int events() {
        if (listening) {
            return backlog.isEmpty() ? 0 : POLLIN;
        }
        int events = 0;
        if (!in.isEmpty() || ended || reset) {
            events |= POLLIN;
        }
        Socket other = peer;
        if (error != 0 || reset) {
            events |= POLLIN | POLLOUT | POLLERR | POLLHUP;
        } else if (other != null && (finished || underWay + other.unread < WINDOW_BYTES)) {
            events |= POLLOUT;
        }
        return ended && finished ? events | POLLHUP : events;
    }

    private int takeError() {
        int taken = error;
        error = 0;
        return taken;
    }

    long takeError(long to) {
        Memory.putInt(to, takeError());
        return 0;
    }

    long name(long to, boolean ofPeer) {
        byte[] bytes = ofPeer ? remote : address;
        if (ofPeer && (peer == null || reset) || bytes.length == 0) {
            return -ENOTCONN;
        }
        Memory.copyIn(bytes, 0, to, bytes.length);
        return 0;
    }

    @Override
    public String toString() {
        return "socket " + descriptor;
    }
}
