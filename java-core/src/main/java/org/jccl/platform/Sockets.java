package org.jccl.platform;

import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;

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

    /** Bytes of one entry of {@link #poll}: int descriptor, short events, short result. */
    public static final int POLLFD_BYTES = 8;

    private static final int AF_UNIX = 1;

    /** A sockaddr_un without its family and the 0 before the name. */
    private static final int MAX_ABSTRACT_NAME_BYTES = 107;

    static final int AF_INET = 2;
    static final int AF_INET6 = 10;
    static final int SOCKADDR_IN_BYTES = 16;
    static final int SOCKADDR_IN6_BYTES = 28;
    private static final int SOCKADDR_STORAGE_BYTES = 128;
    private static final int SOCK_STREAM = 1;
    private static final int NONBLOCK_CLOEXEC = Descriptors.NONBLOCK | Descriptors.CLOEXEC;
    private static final int MSG_NOSIGNAL = 0x4000;
    private static final int MSG_TRUNC = 0x20;
    private static final int SOL_SOCKET = 1;
    private static final int SO_REUSEADDR = 2;
    private static final int SO_ERROR = 4;
    private static final int SO_KEEPALIVE = 9;
    private static final int IPPROTO_TCP = 6;
    private static final int TCP_NODELAY = 1;
    private static final int TCP_KEEPIDLE = 4;
    private static final int TCP_KEEPINTVL = 5;
    private static final int TCP_KEEPCNT = 6;
    private static final int TCP_INFO = 11;
    private static final int TCP_INFO_BYTES = 128;
    private static final int TCPI_RETRANSMITS = 2;
    private static final int TCPI_PROBES = 3;
    private static final int TCPI_UNACKED = 24;
    private static final int TCPI_LAST_ACK_RECV = 56;
    private static final int TCP_USER_TIMEOUT = 18;
    private static final int IPPROTO_IPV6 = 41;
    private static final int IPV6_V6ONLY = 26;
    private static final int KEEPALIVE_PROBES = 3;
    private static final int UNANSWERED = 3;
    private static final int SHUT_WR = 1;
    private static final long MS_NS = 1_000_000;

    private Sockets() {}

    /** A new TCP socket, or -errno. */
    public static int socket(boolean ipv6) {
        int family = ipv6 ? AF_INET6 : AF_INET;
        int fd = ForkGuard.open(SystemCall.SOCKET, family, SOCK_STREAM | NONBLOCK_CLOEXEC, 0, 0);
        if (fd >= 0) {
            // A socket that connects needs it, too: somebody may bind its port while in TIME_WAIT.
            setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        }
        return fd;
    }

    /** Binds to an address that may be in TIME_WAIT; port 0 lets the system choose. 0 or -errno. */
    public static int bind(int fd, SocketAddress address) {
        if (address.isIpv6()) {
            setOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        }
        long sockaddr = CallState.current().sockaddr;
        int size = address.toNative(sockaddr);
        return (int) SystemCall.call(SystemCall.BIND, fd, sockaddr, size);
    }

    /** Listens; 0 or -errno. */
    public static int listen(int fd, int backlog) {
        return (int) SystemCall.call(SystemCall.LISTEN, fd, backlog);
    }

    /** The descriptor of a new connection, or -errno; -EAGAIN if there is none. */
    public static int accept(int fd) {
        return ForkGuard.open(SystemCall.ACCEPT4, fd, 0, 0, NONBLOCK_CLOEXEC);
    }

    /** Starts to connect: 0 connected already, -EINPROGRESS under way, another -errno failed. */
    public static int connect(int fd, SocketAddress address) {
        long sockaddr = CallState.current().sockaddr;
        int size = address.toNative(sockaddr);
        return (int) SystemCall.call(SystemCall.CONNECT, fd, sockaddr, size);
    }

    /** A connection to a Unix socket that has a name but no file, or -errno. */
    public static int connectAbstract(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > MAX_ABSTRACT_NAME_BYTES) {
            return -Errno.EINVAL;
        }
        int fd = ForkGuard.open(SystemCall.SOCKET, AF_UNIX, SOCK_STREAM | NONBLOCK_CLOEXEC, 0, 0);
        if (fd < 0) {
            return fd;
        }
        long sockaddr = CallState.current().sockaddr;
        Memory.putShort(sockaddr, (short) AF_UNIX);
        Memory.putByte(sockaddr + 2, (byte) 0);
        Memory.copyIn(bytes, 0, sockaddr + 3, bytes.length);
        int failed = (int) SystemCall.call(SystemCall.CONNECT, fd, sockaddr, 3 + bytes.length);
        if (failed < 0) {
            close(fd);
            return failed;
        }
        return fd;
    }

    /** How a connect stands: 0 connected, -EINPROGRESS under way, another -errno failed. */
    public static int connectResult(int fd) {
        if (pollOne(fd, POLLOUT, 0) <= 0) {
            return -Errno.EINPROGRESS;
        }
        long error = CallState.current().option;
        long size = error + 8;
        Memory.putInt(error, 0);
        Memory.putInt(size, Integer.BYTES);
        int result =
                (int) SystemCall.call(SystemCall.GETSOCKOPT, fd, SOL_SOCKET, SO_ERROR, error, size);
        return result < 0 ? result : -Memory.getInt(error);
    }

    /** Sends what the socket takes at once: bytes or -errno, -EAGAIN when it is full. */
    public static long send(int fd, long address, long bytes) {
        return SystemCall.repeated(SystemCall.SENDTO, fd, address, bytes, MSG_NOSIGNAL);
    }

    /** Sends the {@code n} ranges of a list one after the other, as {@link #send}. */
    public static long sendRanges(int fd, long ranges, int n) {
        long message = CallState.current().msghdr;
        Memory.putLong(message + 16, ranges);
        Memory.putLong(message + 24, n);
        return SystemCall.repeated(SystemCall.SENDMSG, fd, message, MSG_NOSIGNAL, 0);
    }

    /** Discards at most so many bytes of what is there; results as {@link #recv}. */
    public static long discard(int fd, long bytes) {
        return SystemCall.repeated(SystemCall.RECVFROM, fd, 0, bytes, MSG_TRUNC);
    }

    /** Receives what is there: bytes, 0 at the end of the stream, or -errno (-EAGAIN: nothing). */
    public static long recv(int fd, long address, long bytes) {
        return SystemCall.repeated(SystemCall.RECVFROM, fd, address, bytes, 0);
    }

    /**
     * Waits until one of {@code n} entries of {@link #POLLFD_BYTES} has something.
     *
     * @param timeoutMs 0 to look only
     * @return the number of entries with something, or -errno; -EINTR may come at any time
     */
    public static int poll(long pollfds, int n, int timeoutMs) {
        long timespec = CallState.current().timespec(timeoutMs * MS_NS);
        return (int) SystemCall.call(SystemCall.PPOLL, pollfds, n, timespec, 0, 0);
    }

    /** The same for one descriptor: what happened (POLL bits), 0 for nothing, or -1: look again. */
    public static int pollOne(int fd, short events, int timeoutMs) {
        CallState state = CallState.current();
        long timespec = state.timespec(timeoutMs * MS_NS);
        setPollfd(state.pollfd, 0, fd, events);
        long ready = SystemCall.plain(SystemCall.PPOLL, state.pollfd, 1, timespec, 0, 0);
        return ready <= 0 ? (int) ready : pollResult(state.pollfd, 0);
    }

    /** Fills one entry for {@link #poll}; a negative descriptor is passed over. */
    public static void setPollfd(long pollfds, int index, int fd, short events) {
        long entry = pollfds + (long) index * POLLFD_BYTES;
        Memory.putInt(entry, fd);
        Memory.putShort(entry + 4, events);
        Memory.putShort(entry + 6, (short) 0);
    }

    /** The events that {@link #poll} found in an entry. */
    public static int pollResult(long pollfds, int index) {
        return Memory.getShort(pollfds + (long) index * POLLFD_BYTES + 6);
    }

    /** Ends the sending direction: the peer sees the end of the stream after the last byte. */
    public static int shutdown(int fd) {
        return (int) SystemCall.call(SystemCall.SHUTDOWN, fd, SHUT_WR);
    }

    /** Closes a socket. */
    public static void close(int fd) {
        ForkGuard.close(fd);
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

    /**
     * Ends the connection when sent bytes stay unacknowledged for this long, also if the other
     * machine answers that its process does not read; 0 for the system's own limit.
     */
    public static int setUserTimeout(int fd, int timeoutMs) {
        return setOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, timeoutMs);
    }

    /**
     * How long the other machine's system has not answered although it was asked again and again,
     * in milliseconds; 0 if it answers or nothing was asked. The machine of a process that is
     * stopped and does not read answers. Nothing is allocated.
     */
    public static long silenceMs(int fd) {
        CallState state = CallState.current();
        long info = state.tcpInfo;
        long size = state.option;
        Memory.putLong(info, 0);
        Memory.putInt(info + TCPI_UNACKED, 0);
        Memory.putInt(info + TCPI_LAST_ACK_RECV, 0);
        Memory.putInt(size, TCP_INFO_BYTES);
        if (SystemCall.plain(SystemCall.GETSOCKOPT, fd, IPPROTO_TCP, TCP_INFO, info, size) != 0) {
            return 0;
        }
        boolean resent =
                Memory.getInt(info + TCPI_UNACKED) != 0
                        && (Memory.getByte(info + TCPI_RETRANSMITS) & 0xff) >= UNANSWERED;
        boolean probed = (Memory.getByte(info + TCPI_PROBES) & 0xff) >= UNANSWERED;
        return resent || probed
                ? Integer.toUnsignedLong(Memory.getInt(info + TCPI_LAST_ACK_RECV))
                : 0;
    }

    /**
     * The address of this end.
     *
     * @throws NcclException with SYSTEM_ERROR if the descriptor has none
     */
    public static SocketAddress localAddress(int fd) {
        SocketAddress address = name(SystemCall.GETSOCKNAME, fd);
        if (address == null) {
            throw ErrorKind.SYSTEM_CALL.says("descriptor %s has no local address", fd);
        }
        return address;
    }

    /** The address of the other end, or null if it is not connected any more. */
    public static @Nullable SocketAddress remoteAddress(int fd) {
        return name(SystemCall.GETPEERNAME, fd);
    }

    private static @Nullable SocketAddress name(long number, int fd) {
        CallState state = CallState.current();
        Memory.putInt(state.option, SOCKADDR_STORAGE_BYTES);
        long result = SystemCall.call(number, fd, state.sockaddr, state.option);
        return result < 0 ? null : SocketAddress.fromNative(state.sockaddr);
    }

    private static int setOption(int fd, int level, int option, int value) {
        long address = CallState.current().option;
        Memory.putInt(address, value);
        return (int)
                SystemCall.call(SystemCall.SETSOCKOPT, fd, level, option, address, Integer.BYTES);
    }
}
