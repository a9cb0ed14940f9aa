package org.jccl.bootstrap;

import org.jccl.log.Log;
import org.jccl.platform.Epoll;
import org.jccl.platform.Sockets;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The connections that have not proved themselves, bounded in number and time, and what they may
 * want to reach. The agent polls them as one descriptor, so that those that say nothing cost it
 * nothing. Belongs to the thread jccl-net.
 */
final class UnprovenConnections extends Pollable {
    static final int MOST = 256;

    /** The most that are served in one turn: the agent has other connections, too. */
    static final int READY_PER_TURN = 64;

    /** A connection this young may be a rank in a burst: it is not dropped to make room. */
    private static final long YOUNG_NS = 1_000_000_000L;

    final Roots roots;
    final DropLog drops = new DropLog(Log::attn);
    private final Map<LinkTarget.Name, LinkTarget> targets = new HashMap<>();
    private final Epoll epoll;

    /** By descriptor, in the order in which they came. */
    final Map<Integer, IncomingConnection> waiting = new LinkedHashMap<>();

    /** Empty at first. It owns the epoll, which watches nothing yet. */
    UnprovenConnections(Epoll epoll, Roots roots) {
        super(epoll.fd());
        this.epoll = epoll;
        this.roots = roots;
    }

    /** A copy: what is done with one may end others. */
    private List<IncomingConnection> all() {
        return List.copyOf(waiting.values());
    }

    /** Whether one more may come, for which the oldest is dropped if need be. */
    boolean hasRoom(long nowNs) {
        return waiting.size() < MOST || nowNs - oldest().sinceNs >= YOUNG_NS;
    }

    /**
     * Takes a connection that was accepted. If the system watches no more descriptors for this
     * user, the agent polls it by itself; it counts and ends like the others.
     */
    void add(int fd, @Nullable Root rootOfSocket, long nowNs) {
        try {
            IncomingConnection connection = new IncomingConnection(this, fd, rootOfSocket, nowNs);
            if (waiting.size() == MOST) {
                oldest().drop("there are more than " + MOST + " connections without proof", nowNs);
            }
            waiting.put(fd, connection);
            if (epoll.add(fd) != 0) {
                roots.agent.serve(connection);
            }
        } catch (RuntimeException | Error noMemory) {
            remove(fd);
            Sockets.close(fd);
            throw noMemory;
        }
    }

    /** It ends or has proved itself; its descriptor is still open. */
    void remove(int fd) {
        epoll.remove(fd);
        waiting.remove(fd);
    }

    /** Hands links for this target over from now on, also those that came before it. */
    void expect(LinkTarget target, long nowNs) {
        targets.put(target.name, target);
        for (IncomingConnection each : all()) {
            if (each.isEarly()) {
                each.serve(true, nowNs);
            }
        }
    }

    void forget(LinkTarget target) {
        targets.remove(target.name, target);
    }

    /** The target that a hello means, if it is known already. */
    @Nullable LinkTarget target(Hello hello) {
        return targets.get(new LinkTarget.Name(Number16.of(hello.number()), hello.to()));
    }

    /** No connection can be accepted for now. */
    void cannotAccept(String why) {
        targets.values().forEach(target -> target.fail(why));
    }

    private IncomingConnection oldest() {
        return waiting.values().iterator().next();
    }

    @Override
    void ready(long nowNs) {
        int n = epoll.look();
        for (int i = 0; i < n; i++) {
            IncomingConnection found = waiting.get(epoll.found(i));
            if (found != null) {
                found.serve(true, nowNs);
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
            each.serve(false, nowNs);
        }
    }

    /** Nobody could connect without it: after a failure, which may be a shortage, it rests. */
    @Override
    void failed(Throwable why, long nowNs) {
        rest(nowNs);
    }

    @Override
    void release() {
        all().forEach(Pollable::close);
        epoll.close();
    }
}
