package org.jccl.bootstrap;

import org.jccl.param.Params;
import org.jccl.platform.Errno;
import org.jccl.platform.Interfaces;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * Connects to a listener and proves itself; tries again until its caller gives up, since a listener
 * may be busy, may not be there yet, or may not know the communicator yet. Used by one thread at a
 * time.
 */
final class Dialer implements AutoCloseable {
    private static final long FIRST_PAUSE_NS = 5_000_000;
    private static final long LONGEST_PAUSE_NS = 500_000_000;

    /**
     * The address came from a process that listened there: a rank that is refused for this long has
     * come after the end of that process.
     */
    private static final long REFUSED_NS = 2_000_000_000L;

    private static final long ATTEMPT_LIMIT_NS = 12_000_000_000L;
    private static final int LONGEST_WAIT_MS = 60_000;

    private enum State {
        CONNECTING,
        CHALLENGED,
        PROVEN
    }

    final SocketAddress target;
    private final byte[] key;
    private final byte[] payload;
    private final boolean mayComeLater;
    // Each connection has a nonce of its own.
    private Hello hello;
    // The connection that is being made; null in a pause between two of them.
    private @Nullable Channel channel;
    private State state = State.CONNECTING;
    private long pauseNs = FIRST_PAUSE_NS;
    // When the pause ends, or when the attempt is given up.
    private long untilNs = System.nanoTime();
    private String obstacle = "not tried yet";

    // When the first of the latest refusals came, 0 if the last attempt was not refused.
    private long refusedSinceNs;

    /**
     * Does nothing yet.
     *
     * @param hello what it says; its number names the key at the listener
     * @param payload sent with the proof
     * @param mayComeLater whether the user named the address, so that perhaps nobody listens there
     *     yet
     */
    Dialer(SocketAddress target, Hello hello, byte[] key, byte[] payload, boolean mayComeLater) {
        this.target = mayComeLater ? target : fromHere(target);
        this.hello = hello;
        this.key = key;
        this.payload = payload;
        this.mayComeLater = mayComeLater;
    }

    /**
     * An address that another process gave as its own, in the form that this machine needs: the
     * scope of a link-local one is a number that has a meaning on one machine only.
     */
    private static SocketAddress fromHere(SocketAddress address) {
        if (!address.isLinkLocal()) {
            return address;
        }
        return Interfaces.select(Params.SOCKET_IFNAME.text(), "AF_INET6").stream()
                .map(each -> each.address())
                .filter(SocketAddress::isLinkLocal)
                .findFirst()
                .map(own -> address.withScope(own.scope()))
                .orElse(address);
    }

    /** The reason why the last attempt failed, for sentences. */
    String obstacle() {
        return obstacle;
    }

    /** The descriptor to poll, or -1. */
    int fd() {
        return channel == null ? -1 : channel.fd;
    }

    /** The events to poll for. */
    short events() {
        return channel == null || state == State.CONNECTING ? Sockets.POLLOUT : channel.events();
    }

    /** Milliseconds until it does something by itself, at least 1. */
    int dueInMs() {
        if (state != State.CONNECTING) {
            // It waits for the other end alone.
            return LONGEST_WAIT_MS;
        }
        return (int) Math.max(1, (untilNs - System.nanoTime()) / 1_000_000 + 1);
    }

    /**
     * Does what can be done without waiting. Returns the connection, one time, when the listener
     * has accepted it, and null before; the caller closes it.
     *
     * @throws NcclException if the other end can never be the right one
     */
    @Nullable Channel advance() {
        if (channel == null && System.nanoTime() - untilNs >= 0) {
            int fd = Sockets.socket(target.isIpv6());
            if (fd < 0) {
                throw ErrorKind.CANNOT_CONNECT.says("cannot make a socket: %s", Errno.text(-fd));
            }
            start(fd);
        }
        Channel open = channel;
        if (open != null && state == State.CONNECTING) {
            finishConnect(open);
        }
        if (open != null && state == State.CHALLENGED) {
            answerChallenge(open);
        }
        if (open == null || state != State.PROVEN || !isAccepted(open)) {
            return null;
        }
        channel = null;
        return open;
    }

    /** Begins an attempt with this socket, which the dialer closes. */
    void start(int fd) {
        channel = new Channel(fd);
        state = State.CONNECTING;
        untilNs = System.nanoTime() + ATTEMPT_LIMIT_NS;
        int result = Sockets.connect(fd, target);
        if (result != 0 && result != -Errno.EINPROGRESS) {
            failed(-result);
        }
    }

    /**
     * Only connecting has a time limit. Once connected, the dialer waits for as long as its caller
     * does: a stopped process answers late, and would take the end of a proven connection for the
     * end of the rank.
     */
    private void finishConnect(Channel open) {
        int result = Sockets.connectResult(open.fd);
        if (result == -Errno.EINPROGRESS) {
            if (System.nanoTime() - untilNs >= 0) {
                retry("no answer");
            }
            return;
        }
        // If nobody listens there, a local port may have been connected to itself.
        if (result == 0 && target.equals(Sockets.localAddress(open.fd))) {
            result = -Errno.ECONNREFUSED;
        }
        if (result < 0) {
            failed(-result);
            return;
        }
        refusedSinceNs = 0;
        open.configure();
        hello = hello.again();
        open.send(hello.encode());
        obstacle = "it does not answer";
        state = State.CHALLENGED;
    }

    private void answerChallenge(Channel open) {
        byte[] reply = read(open, Hello.REPLY_BYTES);
        if (reply == null) {
            return;
        }
        if (reply[0] == Hello.UNKNOWN) {
            throw ErrorKind.ROOT_FORGOT.says(
                    "the process at %s does not know this unique id: the process that made "
                            + "it has ended, or made too many since",
                    target);
        }
        byte[] nonce = hello.verifyChallenge(key, reply);
        if (nonce == null) {
            throw ErrorKind.ROOT_FOREIGN.says(
                    "the process at %s does not know the secret: it is not of this job", target);
        }
        open.send(hello.proof(key, nonce, payload));
        state = State.PROVEN;
    }

    private boolean isAccepted(Channel open) {
        byte[] reply = read(open, Hello.ACCEPTED.length);
        if (reply != null && !Keys.same(reply, Hello.ACCEPTED)) {
            throw ErrorKind.ROOT_NONSENSE.says("the process at %s answers nonsense", target);
        }
        return reply != null;
    }

    /** The listener's next bytes, or null if they are not there, or will never be. */
    private byte @Nullable [] read(Channel open, int bytes) {
        if (open.fill(bytes)) {
            return open.take(bytes);
        }
        if (open.ended()) {
            retry(open.endText());
        }
        return null;
    }

    private void failed(int errno) {
        retry(Errno.text(errno));
        if (errno != Errno.ECONNREFUSED || mayComeLater) {
            refusedSinceNs = 0;
        } else if (refusedSinceNs == 0) {
            refusedSinceNs = System.nanoTime();
        } else if (System.nanoTime() - refusedSinceNs > REFUSED_NS) {
            throw ErrorKind.ROOT_GONE.says(
                    "%s has ended: nobody listens at %s any more (or a firewall refuses it)",
                    hello.kind() == Hello.LINK
                            ? "rank " + hello.to() + "'s process"
                            : "the process that made the unique id",
                    target);
        }
    }

    private void retry(String why) {
        obstacle = why;
        close();
        state = State.CONNECTING;
        untilNs = System.nanoTime() + pauseNs;
        pauseNs = Math.min(2 * pauseNs, LONGEST_PAUSE_NS);
    }

    /** Closes a connection that was not accepted. */
    @Override
    public void close() {
        if (channel != null) {
            channel.close();
            channel = null;
        }
    }
}
