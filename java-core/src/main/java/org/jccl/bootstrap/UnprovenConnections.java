package org.jccl.bootstrap;

import org.jccl.platform.Epoll;
import org.jccl.type.NcclException;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The connections that have not proved themselves, bounded in number and time. The agent polls them
 * as one descriptor, so that those that say nothing cost it nothing. Belongs to the thread
 * jccl-net.
 */
final class UnprovenConnections extends Pollable {
    static final int MOST = 256;

    /** The most that are served in one turn: the agent has other connections, too. */
    private static final int READY_PER_TURN = 64;

    /** A connection this young may be a rank in a burst: it is not dropped to make room. */
    private static final long YOUNG_NS = 1_000_000_000L;

    private final Epoll epoll = new Epoll(READY_PER_TURN);

    /** By descriptor, in the order in which they came. */
    final Map<Integer, IncomingConnection> waiting = new LinkedHashMap<>();

    /**
     * Empty at first.
     *
     * @throws NcclException SYSTEM_ERROR without descriptors
     */
    UnprovenConnections() {}

    /** A copy: what is done with one may end others. */
    private List<IncomingConnection> all() {
        return List.copyOf(waiting.values());
    }

    /** Whether one more may come, for which the oldest is dropped if need be. */
    boolean hasRoom(long nowNs) {
        return waiting.size() < MOST || nowNs - oldest().sinceNs >= YOUNG_NS;
    }

    /**
     * Adds a connection.
     *
     * @return false if the system watches no more descriptors for this user: the connection is to
     *     be polled by itself then, and counts and ends like the others
     */
    boolean add(IncomingConnection connection) {
        if (waiting.size() == MOST) {
            oldest().drop(
                            "there are more than " + MOST + " connections without proof",
                            connection.sinceNs);
        }
        waiting.put(connection.fd(), connection);
        return epoll.add(connection.fd()) == 0;
    }

    /** It ends or has proved itself; its descriptor is still open. */
    void remove(IncomingConnection connection) {
        epoll.remove(connection.fd());
        waiting.remove(connection.fd(), connection);
    }

    /** A target has come: ranks that came before it need not wait any longer. */
    void targetMayBeThere(LinkTarget.Name name, long nowNs) {
        for (IncomingConnection each : all()) {
            try {
                each.targetMayBeThere(name, nowNs);
            } catch (RuntimeException | Error failure) {
                NetAgent.failed(each, failure, nowNs);
            }
        }
    }

    private IncomingConnection oldest() {
        return waiting.values().iterator().next();
    }

    @Override
    int fd() {
        return epoll.fd();
    }

    @Override
    void ready(long nowNs) {
        int n = epoll.look();
        for (int i = 0; i < n; i++) {
            IncomingConnection found = waiting.get(epoll.found(i));
            if (found != null) {
                NetAgent.serveOne(found, true, nowNs);
            }
        }
    }

    /** The time of the oldest, since all have the same limit. */
    @Override
    long deadlineNs() {
        return waiting.isEmpty() ? NEVER : oldest().deadlineNs();
    }

    @Override
    void expired(long nowNs) {
        for (IncomingConnection each : all()) {
            if (nowNs - each.deadlineNs() < 0) {
                return;
            }
            NetAgent.serveOne(each, false, nowNs);
        }
    }

    /** Nobody could connect without it: after a failure, which may be a shortage, it rests. */
    @Override
    void failed(long nowNs) {
        rest(nowNs);
    }

    @Override
    void release() {
        all().forEach(Pollable::close);
        epoll.close();
    }
}
