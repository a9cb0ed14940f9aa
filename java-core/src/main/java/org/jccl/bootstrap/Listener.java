package org.jccl.bootstrap;

import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.param.Params;
import org.jccl.platform.Errno;
import org.jccl.platform.Interfaces;
import org.jccl.platform.Interfaces.Interface;
import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jccl.type.InitError;
import org.jccl.type.NcclException;
import org.jccl.type.Unforeseen;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
    private static @Nullable Listener shared;

    final NetAgent agent = new NetAgent();
    final Roots roots = new Roots(agent);
    final SocketAddress address;

    /** A socket kept for when the system gives no other; any thread takes it, atomically. */
    private final AtomicInteger spare;

    // The rest belongs to the thread jccl-net.
    final DropLog drops = new DropLog(Log::attn);
    private final Map<LinkTarget.Name, LinkTarget> targets = new HashMap<>();
    final UnprovenConnections unproven;
    // When accepting first failed, without a success since; or NEVER.
    private long failingSinceNs = Pollable.NEVER;
    // Written by the thread jccl-net, read by all (volatile): why nothing is accepted, or null.
    private volatile @Nullable String obstacle;

    private Listener(int fd, SocketAddress address, UnprovenConnections unproven, int spare) {
        this.address = address;
        this.unproven = unproven;
        this.spare = new AtomicInteger(spare);
        agent.serve(new ListeningSocket(this, fd, null));
        agent.serve(unproven);
    }

    /**
     * The address at which other processes reach this one.
     *
     * @throws NcclException with INVALID_USAGE or SYSTEM_ERROR if no interface or port can be had
     */
    public static SocketAddress address() {
        return shared().address;
    }

    /** Closes the socket and ends the thread; the next that needs a listener makes new ones. */
    public static void shutdown() {
        Listener ending;
        synchronized (Listener.class) {
            ending = shared;
            shared = null;
        }
        if (ending != null) {
            ending.agent.stop();
            ending.dropSpare();
        }
    }

    static synchronized Listener shared() {
        Listener known = shared;
        if (known == null) {
            known = listen();
            Thread thread = new Thread(known.agent, "jccl-net");
            thread.setDaemon(true);
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
            int fd = Sockets.socket(address.isIpv6());
            if (fd >= 0 && !spare.compareAndSet(NONE, fd)) {
                Sockets.close(fd);
            }
        }
    }

    private void dropSpare() {
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
        Listener known = shared;
        boolean fits = known != null && known.address.isIpv6() == ipv6;
        return known != null && fits ? known.spare.getAndSet(NONE) : NONE;
    }

    private static Listener listen() {
        int fd = open();
        UnprovenConnections unproven = null;
        int spare = NONE;
        try {
            unproven = new UnprovenConnections();
            SocketAddress address = Sockets.localAddress(fd);
            spare = Sockets.socket(address.isIpv6());
            if (spare < 0) {
                throw InitError.CANNOT_LISTEN.says(
                        "cannot keep a socket in reserve: %s", Errno.text(-spare));
            }
            return new Listener(fd, address, unproven, spare);
        } catch (RuntimeException | Error shortage) {
            if (unproven != null) {
                unproven.close();
            }
            if (spare >= 0) {
                Sockets.close(spare);
            }
            Sockets.close(fd);
            throw shortage;
        }
    }

    /** Whether this process made the rendezvous with this number. */
    static synchronized boolean isRootHere(IdContent id) {
        return shared != null && shared.address.equals(id.root()) && shared.roots.made(id);
    }

    /** Whether a communicator of one rank may have this id. */
    static synchronized boolean useAlone(IdContent id) {
        return !isRootHere(id) || shared == null || shared.roots.useAlone(id);
    }

    /** Hands connections for this target over from now on. */
    void register(LinkTarget target) {
        agent.submit(
                () -> {
                    targets.put(target.name, target);
                    unproven.targetMayBeThere(target.name, System.nanoTime());
                });
    }

    void unregister(LinkTarget target) {
        agent.submit(() -> targets.remove(target.name, target));
    }

    /** The target that a hello means, if it is known already; called by a connection. */
    @Nullable LinkTarget target(Hello hello) {
        return targets.get(new LinkTarget.Name(Number16.of(hello.number()), hello.to()));
    }

    /** Serves a new root at a socket of its own, which listens already. */
    Root openRoot(int fd, IdContent id) {
        Root root = new Root(roots, agent, Number16.of(id.number()), id.key());
        ListeningSocket socket = new ListeningSocket(this, fd, root);
        root.socket = socket;
        agent.submit(() -> agent.serve(socket));
        return root;
    }

    /** Called by a socket: takes what waits there; false if the socket is to rest for a while. */
    boolean accept(ListeningSocket socket, long nowNs) {
        while (!socket.done()) {
            if (!unproven.hasRoom(nowNs)) {
                return false;
            }
            int accepted = Sockets.accept(socket.fd());
            if (accepted >= 0 || accepted == -Errno.EAGAIN) {
                failingSinceNs = Pollable.NEVER;
                obstacle = null;
            }
            if (accepted >= 0) {
                admit(accepted, socket.root, nowNs);
            } else if (accepted == -Errno.EAGAIN) {
                return true;
            } else if (accepted != -Errno.EINTR && accepted != -Errno.ECONNABORTED) {
                cannotAccept(socket, Errno.text(-accepted), nowNs);
                return false;
            }
        }
        return true;
    }

    private void admit(int fd, @Nullable Root rootOfSocket, long nowNs) {
        IncomingConnection connection = null;
        try {
            connection = new IncomingConnection(this, fd, rootOfSocket, nowNs);
            if (!unproven.add(connection)) {
                agent.serve(connection);
            }
        } catch (RuntimeException | Error noMemory) {
            if (connection == null) {
                Sockets.close(fd);
            } else {
                connection.close();
            }
            throw noMemory;
        }
    }

    /** Waits a short shortage out, then tells all that expect a connection. */
    private void cannotAccept(ListeningSocket socket, String why, long nowNs) {
        if (failingSinceNs == Pollable.NEVER) {
            failingSinceNs = nowNs;
            drops.add(() -> "cannot accept a connection for now: " + why, nowNs);
        } else if (nowNs - failingSinceNs >= SHORTAGE_NS) {
            obstacle = why;
            // Its descriptor lets those who come be told, one after the other.
            dropSpare();
            Root only = socket.root;
            if (only != null) {
                only.cannotAccept(why);
            }
            roots.cannotAccept(why);
            targets.values().forEach(target -> target.fail(why));
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
        return InitError.CANNOT_CONNECT.says("this process cannot accept connections: %s", why);
    }

    /** A rank of this process gives up before it has reached its root, which is here. */
    static synchronized void giveUpHere(IdContent id, int rank, NcclException why) {
        if (shared != null) {
            shared.roots.giveUp(id, rank, why);
        }
    }

    private static String rangeText(int first, int last, int result) {
        String range = "JCCL_PORT_RANGE " + first + "-" + last;
        return result == -Errno.EADDRINUSE
                ? "; all ports of " + range + " are taken: each process needs one, widen the range"
                : "; the port is the first of " + range + " that was tried and not taken";
    }

    private static int open() {
        List<Interface> usable =
                Interfaces.select(Params.SOCKET_IFNAME.text(), Params.SOCKET_FAMILY.text());
        Interface chosen = usable.getFirst();
        int[] range = Params.PORT_RANGE.get();
        int first = range == null ? 0 : range[0];
        int last = range == null ? 0 : range[1];
        int result = 0;
        for (int port = first; port <= last; port++) {
            result = ListeningSocket.open(chosen.address().withPort(port));
            if (result >= 0) {
                Log.info(
                        Subsystem.BOOTSTRAP,
                        "Bootstrap: Using %s, listening on %s",
                        chosen.name(),
                        Sockets.localAddress(result));
                return result;
            }
            if (result != -Errno.EADDRINUSE) {
                break;
            }
        }
        throw InitError.CANNOT_LISTEN.says(
                "cannot listen on %s: %s%s",
                chosen, Errno.text(-result), range == null ? "" : rangeText(first, last, result));
    }
}
