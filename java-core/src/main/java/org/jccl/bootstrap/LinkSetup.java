package org.jccl.bootstrap;

import org.jccl.platform.SocketAddress;
import org.jccl.platform.Sockets;
import org.jccl.type.NcclException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Authenticated connections of one communicator between this rank and some others: the lower rank
 * connects to the higher rank's listener. Used by one thread at a time.
 */
public final class LinkSetup implements AutoCloseable {
    private final Listener listener;
    private final LinkTarget target;

    /** By rank, of the links that this rank has yet to make. */
    private final Map<Integer, Dialer> dialers = new LinkedHashMap<>();

    private final MemorySegment pollfds;

    /**
     * Starts to expect connections; {@link #advance} does the rest.
     *
     * @param key32 the communicator's key, known to its ranks alone
     * @param commId16 the communicator's number, the same on all ranks, no secret
     * @param rank this rank
     * @param listenerOfRank {@link Listener#address} of each rank's process
     * @param peers the ranks to be connected with
     */
    public LinkSetup(
            byte[] key32, byte[] commId16, int rank, SocketAddress[] listenerOfRank, int[] peers) {
        byte[] key = Keys.derive(key32, "link", commId16);
        for (int peer : peers) {
            if (peer > rank) {
                Hello hello = Hello.create(Hello.LINK, rank, peer, commId16.clone());
                byte[] payload = {};
                dialers.put(peer, new Dialer(listenerOfRank[peer], hello, key, payload, false));
            }
        }
        listener = Listener.shared();
        pollfds = Arena.ofAuto().allocate((dialers.size() + 1L) * Sockets.POLLFD_BYTES, 8);
        LinkTarget.Name name = new LinkTarget.Name(Number16.of(commId16), rank);
        target = new LinkTarget(name, key, listenerOfRank.length, peers);
        try {
            listener.register(target);
        } catch (RuntimeException | Error noMemory) {
            close();
            throw noMemory;
        }
    }

    /**
     * Does what can be done without waiting; true when all connections are there.
     *
     * @throws NcclException if a peer's listener can never be the right one, or no connection can
     *     be made or accepted
     */
    public boolean advance() {
        target.wakeup.drain();
        dialers.entrySet().removeIf(each -> connects(each.getKey(), each.getValue()));
        boolean complete = missing().length == 0;
        String obstacle = target.obstacle();
        if (!complete && obstacle != null) {
            throw Listener.cannotAccept(obstacle);
        }
        return complete;
    }

    /** Goes on with a link that this rank makes; whether it is there. */
    private boolean connects(int peer, Dialer dialer) {
        Channel accepted = dialer.advance();
        if (accepted != null) {
            target.offer(peer, accepted.fd);
        }
        return accepted != null;
    }

    /** Blocks at most {@code maxMs} milliseconds, until {@link #advance} may get further. */
    public void awaitActivity(int maxMs) {
        int sleepMs = maxMs;
        int n = 1;
        Sockets.setPollfd(pollfds.address(), 0, target.wakeup.fd(), Sockets.POLLIN);
        for (Dialer dialer : dialers.values()) {
            Sockets.setPollfd(pollfds.address(), n, dialer.fd(), dialer.events());
            sleepMs = Math.min(sleepMs, dialer.dueInMs());
            n++;
        }
        Sockets.poll(pollfds.address(), n, sleepMs);
    }

    /**
     * The connection with a peer after {@link #advance} was true: connected, non-blocking, without
     * delay. The caller closes it.
     */
    public int descriptor(int peer) {
        return target.take(peer);
    }

    /** The peers whose connection is not there yet. */
    public int[] missing() {
        return target.missing();
    }

    /** Closes what was not taken. */
    @Override
    public void close() {
        listener.unregister(target);
        target.close();
        dialers.values().forEach(Dialer::close);
    }
}
