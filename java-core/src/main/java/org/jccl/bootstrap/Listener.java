package org.jccl.bootstrap;

import org.jccl.platform.Epoll;
import org.jccl.platform.Errno;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jccl.platform.Threads;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Accepts the connections of this process. It is made on first need: one listening socket, one more
 * for each root that the process opens at NCCL_COMM_ID, and the thread jccl-net that serves them.
 * Connections that have not proved themselves are bounded in number and time; a stranger is dropped
 * and the others go on.
 */
public final class Listener {
    private static final long SHORTAGE_NS = 1_000_000_000L;
    private static final int NONE = -1;

    // Written and read under the class's lock.
    static @Nullable Listener shared;

    final NetAgent agent;
    final Roots roots;
    final UnprovenConnections unproven;
    final SocketAddress address;

    /**
     * A socket kept for when the system gives no other. Any thread takes it, atomically; it is
     * replaced under the class's lock.
     */
    private final AtomicInteger spare = new AtomicInteger(NONE);

    // When accepting first failed, without a success since; or NEVER. Belongs to jccl-net.
    private long failingSinceNs = Pollable.NEVER;
    // Written by the thread jccl-net, read by all (volatile): why nothing is accepted, or null.
    private volatile @Nullable String obstacle;

    /** If this fails, the caller closes the agent, and with it what is served already. */
    private Listener(NetAgent agent, int fd) {
        this.agent = agent;
        agent.serve(new ListeningSocket(this, fd, null));
        roots = new Roots(agent);
        unproven = new UnprovenConnections(new Epoll(UnprovenConnections.READY_PER_TURN), roots);
        agent.serve(unproven);
        address = Sockets.localAddress(fd);
        int reserve = Sockets.socket(address.isIpv6());
        if (reserve < 0) {
            throw ErrorKind.CANNOT_LISTEN.says(
                    "cannot keep a socket in reserve: %s", Errno.text(-reserve));
        }
        spare.set(reserve);
    }

    /**
     * The address at which other processes reach this one.
     *
     * @throws NcclException with INVALID_USAGE or SYSTEM_ERROR if no interface or port can be had
     */
    public static SocketAddress address() {
        return shared().address;
    }

    static synchronized Listener shared() {
        Listener known = shared;
        if (known == null) {
            known = listen();
            Thread thread = Threads.daemon("jccl-net", known.agent);
            try {
                thread.start();
            } catch (Error noThread) {
                known.agent.close();
                known.dropSpare();
                throw Unforeseen.of(noThread, "at the start of jccl-net");
            }
            shared = known;
        }
        known.keepSpare();
        return known;
    }

    private void keepSpare() {
        if (spare.get() == NONE) {
            spare.set(Math.max(NONE, Sockets.socket(address.isIpv6())));
        }
    }

    void dropSpare() {
        int fd = spare.getAndSet(NONE);
        if (fd >= 0) {
            Sockets.close(fd);
        }
    }

    /**
     * The spare socket, by which a rank that gets no other tells the others: it has no connection
     * to anybody yet. -1 if the socket is in use, or is of the other family.
     */
    static synchronized int takeSpare(boolean ipv6) {
        return shared != null && shared.address.isIpv6() == ipv6
                ? shared.spare.getAndSet(NONE)
                : NONE;
    }

    private static Listener listen() {
        NetAgent agent = new NetAgent();
        try {
            return new Listener(agent, ListeningSocket.open());
        } catch (RuntimeException | Error shortage) {
            agent.close();
            throw shortage;
        }
    }

    /** The root of this id, if this process made it and remembers it. */
    static synchronized @Nullable Root rootHere(IdContent id) {
        return shared != null && shared.address.equals(id.root())
                ? shared.roots.find(Number16.of(id.number()))
                : null;
    }

    /** Hands connections for this target over from now on. */
    void register(LinkTarget target) {
        agent.submit(() -> unproven.expect(target, System.nanoTime()));
    }

    void unregister(LinkTarget target) {
        agent.submit(() -> unproven.forget(target));
    }

    /** Serves a new root at a socket of its own, which listens already and is closed on failure. */
    static Root openRoot(int fd, IdContent id) {
        try {
            Listener here = shared();
            Root root = new Root(here.roots, id);
            ListeningSocket socket = new ListeningSocket(here, fd, root);
            root.socket = socket;
            here.agent.submit(() -> here.agent.serve(socket));
            return root;
        } catch (RuntimeException | Error failure) {
            Sockets.close(fd);
            throw failure;
        }
    }

    /** A socket can accept connections, whether there are any or not. */
    void accepts() {
        failingSinceNs = Pollable.NEVER;
        obstacle = null;
    }

    /** A socket cannot accept: after a while all that expect a connection are told so. */
    void cannotAccept(@Nullable Root rootOfSocket, String why, long nowNs) {
        if (failingSinceNs == Pollable.NEVER) {
            failingSinceNs = nowNs;
            unproven.drops.add(() -> "cannot accept a connection for now: " + why, nowNs);
        } else if (nowNs - failingSinceNs >= SHORTAGE_NS) {
            obstacle = why;
            // Its descriptor lets those who come be told, one after the other.
            dropSpare();
            if (rootOfSocket != null) {
                rootOfSocket.cannotAccept(why);
            }
            roots.cannotAccept(why);
            unproven.cannotAccept(why);
        }
    }

    /**
     * Called by a rank that waits to be accepted by its own process.
     *
     * @throws NcclException SYSTEM_ERROR if that process accepts nothing any more
     */
    static synchronized void throwObstacle() {
        String why = shared == null ? null : shared.obstacle;
        if (why != null) {
            throw cannotAccept(why);
        }
    }

    static NcclException cannotAccept(String why) {
        return ErrorKind.CANNOT_CONNECT.says("this process cannot accept connections: %s", why);
    }
}
