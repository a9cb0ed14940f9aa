package org.jccl.platform;

import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandle;

/**
 * TCP sockets as plain descriptors, all of them non-blocking and close-on-exec. Unlike Java's
 * channels they survive the interrupt of a thread, and a forked child can close its copies. Calls
 * return their result or -errno and allocate nothing.
 */
public final class Sockets {
    /** Poll for data or the end of the stream. */
    public static final short POLLIN = 1;

    /** Poll for room to send, or the end of a connect. */
    public static final short POLLOUT = 4;

    /** Poll reports an error of the descriptor. */
    public static final short POLLERR = 8;

    /** Poll reports that both directions are closed. */
    public static final short POLLHUP = 16;

    /** Bytes of one entry of {@link #poll}: int descriptor, short events, short result. */
    public static final int POLLFD_BYTES = 8;

    static final int AF_INET = 2;
    static final int AF_INET6 = 10;
    static final int SOCKADDR_IN_BYTES = 16;
    static final int SOCKADDR_IN6_BYTES = 28;
    private static final int SOCKADDR_STORAGE_BYTES = 128;
    private static final int STREAM_NONBLOCK_CLOEXEC = 1 | 04000 | 02000000;
    private static final int NONBLOCK_CLOEXEC = 04000 | 02000000;
    private static final int MSG_NOSIGNAL = 0x4000;
    private static final int SOL_SOCKET = 1;
    private static final int SO_REUSEADDR = 2;
    private static final int SO_ERROR = 4;
    private static final int SO_SNDBUF = 7;
    private static final int SO_RCVBUF = 8;
    private static final int SO_KEEPALIVE = 9;
    private static final int IPPROTO_TCP = 6;
    private static final int TCP_NODELAY = 1;
    private static final int TCP_KEEPIDLE = 4;
    private static final int TCP_KEEPINTVL = 5;
    private static final int TCP_KEEPCNT = 6;
    private static final int TCP_USER_TIMEOUT = 18;
    private static final int IPPROTO_IPV6 = 41;
    private static final int IPV6_V6ONLY = 26;
    private static final int KEEPALIVE_PROBES = 3;

    private static final MethodHandle SOCKET =
            Libc.capturing("socket", Libc.INT, Libc.INT, Libc.INT, Libc.INT);
    private static final MethodHandle BIND =
            Libc.capturing("bind", Libc.INT, Libc.INT, Libc.LONG, Libc.INT);
    private static final MethodHandle LISTEN =
            Libc.capturing("listen", Libc.INT, Libc.INT, Libc.INT);
    private static final MethodHandle ACCEPT4 =
            Libc.capturing("accept4", Libc.INT, Libc.INT, Libc.LONG, Libc.LONG, Libc.INT);
    private static final MethodHandle CONNECT =
            Libc.capturing("connect", Libc.INT, Libc.INT, Libc.LONG, Libc.INT);
    private static final MethodHandle SEND =
            Libc.capturing("send", Libc.LONG, Libc.INT, Libc.LONG, Libc.LONG, Libc.INT);
    private static final MethodHandle SENDMSG =
            Libc.capturing("sendmsg", Libc.LONG, Libc.INT, Libc.LONG, Libc.INT);
    private static final MethodHandle RECV =
            Libc.capturing("recv", Libc.LONG, Libc.INT, Libc.LONG, Libc.LONG, Libc.INT);
    private static final MethodHandle POLL =
            Libc.capturing("poll", Libc.INT, Libc.LONG, Libc.LONG, Libc.INT);
    private static final MethodHandle SHUTDOWN =
            Libc.capturing("shutdown", Libc.INT, Libc.INT, Libc.INT);
    private static final MethodHandle SETSOCKOPT =
            Libc.capturing(
                    "setsockopt", Libc.INT, Libc.INT, Libc.INT, Libc.INT, Libc.LONG, Libc.INT);
    private static final MethodHandle GETSOCKOPT =
            Libc.capturing(
                    "getsockopt", Libc.INT, Libc.INT, Libc.INT, Libc.INT, Libc.LONG, Libc.LONG);
    private static final MethodHandle GETSOCKNAME =
            Libc.capturing("getsockname", Libc.INT, Libc.INT, Libc.LONG, Libc.LONG);
    private static final MethodHandle GETPEERNAME =
            Libc.capturing("getpeername", Libc.INT, Libc.INT, Libc.LONG, Libc.LONG);

    private Sockets() {}

    /** A new TCP socket, or -errno. */
    public static int socket(boolean ipv6) {
        CallState state = CallState.current();
        int family = ipv6 ? AF_INET6 : AF_INET;
        try {
            int fd = (int) SOCKET.invokeExact(state.segment, family, STREAM_NONBLOCK_CLOEXEC, 0);
            if (fd < 0) {
                return -state.errno();
            }
            ForkGuard.track(fd);
            return fd;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** Binds to an address that may be in TIME_WAIT; port 0 lets the system choose. 0 or -errno. */
    public static int bind(int fd, SocketAddress address) {
        setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        if (address.isIpv6()) {
            setOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        }
        CallState state = CallState.current();
        int size = address.toNative(state.sockaddr());
        try {
            int result = (int) BIND.invokeExact(state.segment, fd, state.sockaddr(), size);
            return result < 0 ? -state.errno() : 0;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** Listens; 0 or -errno. */
    public static int listen(int fd, int backlog) {
        CallState state = CallState.current();
        try {
            int result = (int) LISTEN.invokeExact(state.segment, fd, backlog);
            return result < 0 ? -state.errno() : 0;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** The descriptor of a new connection, or -errno; -EAGAIN if there is none. */
    public static int accept(int fd) {
        CallState state = CallState.current();
        try {
            int accepted = (int) ACCEPT4.invokeExact(state.segment, fd, 0L, 0L, NONBLOCK_CLOEXEC);
            if (accepted < 0) {
                return -state.errno();
            }
            ForkGuard.track(accepted);
            return accepted;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** Starts to connect: 0 connected already, -EINPROGRESS under way, another -errno failed. */
    public static int connect(int fd, SocketAddress address) {
        CallState state = CallState.current();
        int size = address.toNative(state.sockaddr());
        try {
            int result = (int) CONNECT.invokeExact(state.segment, fd, state.sockaddr(), size);
            return result < 0 ? -state.errno() : 0;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** How a connect stands: 0 connected, -EINPROGRESS under way, another -errno failed. */
    public static int connectResult(int fd) {
        int ready = pollOne(fd, POLLOUT, 0);
        if (ready == 0 || ready == -Errno.EINTR) {
            return -Errno.EINPROGRESS;
        }
        return ready < 0 ? ready : -getOption(fd, SOL_SOCKET, SO_ERROR);
    }

    /** Sends what the socket takes at once: bytes or -errno, -EAGAIN when it is full. */
    public static long send(int fd, long address, long bytes) {
        CallState state = CallState.current();
        try {
            long sent;
            do {
                sent = (long) SEND.invokeExact(state.segment, fd, address, bytes, MSG_NOSIGNAL);
            } while (sent < 0 && state.errno() == Errno.EINTR);
            return sent < 0 ? -state.errno() : sent;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** Sends two ranges one after the other, as {@link #send}. */
    public static long sendTwo(int fd, long first, long firstBytes, long second, long secondBytes) {
        CallState state = CallState.current();
        long vectors = state.iovecs();
        Memory.putLong(vectors, first);
        Memory.putLong(vectors + 8, firstBytes);
        Memory.putLong(vectors + 16, second);
        Memory.putLong(vectors + 24, secondBytes);
        long message = state.msghdr();
        Memory.fill(message, 56, (byte) 0);
        Memory.putLong(message + 16, vectors);
        Memory.putLong(message + 24, 2);
        try {
            long sent;
            do {
                sent = (long) SENDMSG.invokeExact(state.segment, fd, message, MSG_NOSIGNAL);
            } while (sent < 0 && state.errno() == Errno.EINTR);
            return sent < 0 ? -state.errno() : sent;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** Receives what is there: bytes, 0 at the end of the stream, or -errno (-EAGAIN: nothing). */
    public static long recv(int fd, long address, long bytes) {
        CallState state = CallState.current();
        try {
            long received;
            do {
                received = (long) RECV.invokeExact(state.segment, fd, address, bytes, 0);
            } while (received < 0 && state.errno() == Errno.EINTR);
            return received < 0 ? -state.errno() : received;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /**
     * Waits until one of {@code n} entries of {@link #POLLFD_BYTES} has something.
     *
     * @param timeoutMs 0 to look only, negative for no limit
     * @return the number of entries with something, or -errno; -EINTR may come at any time
     */
    public static int poll(long pollfds, int n, int timeoutMs) {
        CallState state = CallState.current();
        try {
            int ready = (int) POLL.invokeExact(state.segment, pollfds, (long) n, timeoutMs);
            return ready < 0 ? -state.errno() : ready;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** The same for one descriptor: what happened (POLL bits), 0 for nothing, or -errno. */
    public static int pollOne(int fd, short events, int timeoutMs) {
        long entry = CallState.current().pollfd();
        setPollfd(entry, fd, events);
        int ready = poll(entry, 1, timeoutMs);
        return ready <= 0 ? ready : pollResult(entry);
    }

    /** Fills one entry for {@link #poll}; a negative descriptor is passed over. */
    public static void setPollfd(long entry, int fd, short events) {
        Memory.putInt(entry, fd);
        Memory.putShort(entry + 4, events);
        Memory.putShort(entry + 6, (short) 0);
    }

    /** What {@link #poll} found in an entry. */
    public static int pollResult(long entry) {
        return Memory.getShort(entry + 6);
    }

    /** Ends the sending direction: the peer sees the end of the stream after the last byte. */
    public static int shutdown(int fd) {
        CallState state = CallState.current();
        try {
            int result = (int) SHUTDOWN.invokeExact(state.segment, fd, 1);
            return result < 0 ? -state.errno() : 0;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    /** Closes a socket. */
    public static void close(int fd) {
        ForkGuard.untrack(fd);
        Descriptors.close(fd);
    }

    /** Sends small messages at once. */
    public static int setNoDelay(int fd) {
        return setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    }

    /**
     * Finds out that an idle peer's machine has gone: after {@code idleSeconds} of silence a probe
     * every {@code intervalSeconds}, three of them.
     */
    public static int setKeepAlive(int fd, int idleSeconds, int intervalSeconds) {
        setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, idleSeconds);
        setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, intervalSeconds);
        setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
        return setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }

    /** Ends the connection when sent bytes stay unacknowledged for this long. */
    public static int setUserTimeout(int fd, int timeoutMs) {
        return setOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, timeoutMs);
    }

    /** Asks for a size of the send buffer; the system may give another. */
    public static int setSendBuffer(int fd, int sizeBytes) {
        return setOption(fd, SOL_SOCKET, SO_SNDBUF, sizeBytes);
    }

    /** Asks for a size of the receive buffer; the system may give another. */
    public static int setReceiveBuffer(int fd, int sizeBytes) {
        return setOption(fd, SOL_SOCKET, SO_RCVBUF, sizeBytes);
    }

    /**
     * The address of this end.
     *
     * @throws NcclException with SYSTEM_ERROR if the descriptor has none
     */
    public static SocketAddress localAddress(int fd) {
        SocketAddress address = name(GETSOCKNAME, fd);
        if (address == null) {
            throw NcclException.systemError("descriptor " + fd + " has no local address");
        }
        return address;
    }

    /** The address of the other end, or null if it is not connected any more. */
    public static @Nullable SocketAddress remoteAddress(int fd) {
        return name(GETPEERNAME, fd);
    }

    private static @Nullable SocketAddress name(MethodHandle call, int fd) {
        CallState state = CallState.current();
        Memory.putInt(state.option(), SOCKADDR_STORAGE_BYTES);
        try {
            int result =
                    (int) call.invokeExact(state.segment, fd, state.sockaddr(), state.option());
            return result < 0 ? null : SocketAddress.fromNative(state.sockaddr());
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    private static int setOption(int fd, int level, int option, int value) {
        CallState state = CallState.current();
        Memory.putInt(state.option(), value);
        try {
            int result =
                    (int)
                            SETSOCKOPT.invokeExact(
                                    state.segment, fd, level, option, state.option(), 4);
            return result < 0 ? -state.errno() : 0;
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }

    private static int getOption(int fd, int level, int option) {
        CallState state = CallState.current();
        Memory.putInt(state.option(), 0);
        Memory.putInt(state.option() + 8, 4);
        try {
            int result =
                    (int)
                            GETSOCKOPT.invokeExact(
                                    state.segment,
                                    fd,
                                    level,
                                    option,
                                    state.option(),
                                    state.option() + 8);
            return result < 0 ? state.errno() : Memory.getInt(state.option());
        } catch (Throwable cause) {
            throw Libc.unexpected(cause);
        }
    }
}
