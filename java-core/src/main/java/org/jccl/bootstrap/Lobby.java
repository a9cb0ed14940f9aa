package org.jccl.bootstrap;

import org.jccl.platform.Epoll;
import org.jccl.type.NcclException;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The connections that have not proved themselves, bounded in number and time. The loop polls them
 * as one descriptor, so that those that say nothing cost it nothing. Belongs to the thread
 * jccl-net.
 */
final class Lobby extends Lasting {
    static final int MOST = 256;

    /** The others of the loop are looked after in between. */
    private static final int READY_PER_TURN = 64;

    /** A connection this young may be a rank in a burst: it is not dropped to make room. */
    private static final long YOUNG_NS = 1_000_000_000L;

    private final Epoll epoll = new Epoll(READY_PER_TURN);

    /** By descriptor, in the order in which they came. */
    private final Map<Integer, IncomingConnection> waiting = new LinkedHashMap<>();

    /**
     * An empty one.
     *
     * @throws NcclException SYSTEM_ERROR without descriptors
     */
    Lobby() {}

    int size() {
        return waiting.size();
    }

    /** A copy: what is done with one may end others. */
    private List<IncomingConnection> all() {
        return List.copyOf(waiting.values());
    }

    /** Whether one more may come, the oldest being dropped then if it must. */
    boolean hasRoom(long nowNs) {
        return waiting.size() < MOST || nowNs - oldest().sinceNs() >= YOUNG_NS;
    }

    /**
     * Whether the lobby polls it. If not, the system watches no more descriptors for this user, and
     * it is to be polled by itself; it counts and ends like the others.
     */
    boolean enter(IncomingConnection connection) {
        if (waiting.size() == MOST) {
            oldest().drop(
                            "there are more than " + MOST + " connections without proof",
                            connection.sinceNs());
        }
        waiting.put(connection.fd(), connection);
        return epoll.add(connection.fd()) == 0;
    }

    /** It ends or has proved itself; its descriptor is still open. */
    void leave(IncomingConnection connection) {
        epoll.remove(connection.fd());
        waiting.remove(connection.fd(), connection);
    }

    /** A rank that has been here before its target waits for it no longer. */
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
    public int fd() {
        return epoll.fd();
    }

    @Override
    public void ready(long nowNs) {
        int n = epoll.look();
        for (int i = 0; i < n; i++) {
            IncomingConnection found = waiting.get(epoll.found(i));
            if (found != null) {
                NetAgent.serveOne(found, true, nowNs);
            }
        }
    }

    /** When its rest ends, or else the time of the oldest, since all have the same limit. */
    @Override
    public long deadlineNs() {
        long restsUntilNs = super.deadlineNs();
        if (restsUntilNs != NetAgent.NEVER || waiting.isEmpty()) {
            return restsUntilNs;
        }
        return oldest().deadlineNs();
    }

    @Override
    public void expired(long nowNs) {
        super.expired(nowNs);
        for (IncomingConnection each : all()) {
            if (nowNs - each.deadlineNs() < 0) {
                return;
            }
            NetAgent.serveOne(each, false, nowNs);
        }
    }

    @Override
    protected void release() {
        all().forEach(Pollable::close);
        epoll.close();
    }
}
