package org.jccl.bootstrap;

import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The rendezvous whose ids this process made. Those that have ended and those that nobody ever used
 * are bounded in number: the oldest are forgotten first. Any thread may call it; each root belongs
 * to the thread jccl-net.
 */
final class Roots {
    private static final int MAX_ENDED = 4096;
    private static final int MAX_UNUSED = 65536;

    private final NetAgent agent;

    /** Guarded by this, as the two below. */
    private final Map<Number16, Root> unused = new LinkedHashMap<>();

    private final Map<Number16, Root> active = new LinkedHashMap<>();
    private final Map<Number16, Root> ended = new LinkedHashMap<>();

    Roots(NetAgent agent) {
        this.agent = agent;
    }

    /** From now on ranks can meet at this id. */
    synchronized void create(IdContent id) {
        Number16 number = Number16.of(id.number());
        unused.put(number, new Root(this, agent, number, id.key()));
        limit(unused, MAX_UNUSED);
    }

    /** The root with this number, or null if it is not known. */
    synchronized @Nullable Root find(Number16 number) {
        Root root = unused.get(number);
        if (root == null) {
            root = active.get(number);
        }
        return root != null ? root : ended.get(number);
    }

    /** Whether this process made this id. */
    boolean made(IdContent id) {
        return find(Number16.of(id.number())) != null;
    }

    /**
     * Uses up the id of a single rank, which needs no rendezvous; whether it was unused, as far as
     * this process knows.
     */
    synchronized boolean useAlone(IdContent id) {
        Root root = find(Number16.of(id.number()));
        if (root == null) {
            return true;
        }
        boolean first = unused.containsKey(root.number);
        if (first) {
            used(root);
            agent.submit(root::end);
        }
        return first;
    }

    /** A rank of this process gives up before it has reached the root. */
    void giveUp(IdContent id, int rank, NcclException why) {
        Root root = find(Number16.of(id.number()));
        if (root != null) {
            root.giveUp(rank, why);
        }
    }

    /** No connection can be accepted for now; on the thread jccl-net. */
    void cannotAccept(String why) {
        List<Root> all;
        synchronized (this) {
            all = List.copyOf(active.values());
        }
        all.forEach(root -> root.cannotAccept(why));
    }

    /** The first rank has come. */
    synchronized void used(Root root) {
        if (unused.remove(root.number) != null) {
            active.put(root.number, root);
        }
    }

    /** The last rank has gone. */
    synchronized void ended(Root root) {
        if (active.remove(root.number) != null) {
            ended.put(root.number, root);
            limit(ended, MAX_ENDED);
        }
    }

    private static void limit(Map<Number16, Root> map, int most) {
        Iterator<Number16> oldest = map.keySet().iterator();
        while (map.size() > most) {
            oldest.next();
            oldest.remove();
        }
    }
}
