package org.jccl.bootstrap;

import org.jspecify.annotations.Nullable;

import java.util.LinkedHashMap;
import java.util.List;

/**
 * The rendezvous whose ids this process made. Those that have ended and those that nobody ever used
 * are bounded in number: the oldest are forgotten first. Any thread may call it; each root belongs
 * to the thread jccl-net.
 */
final class Roots {
    private static final int MAX_ENDED = 4096;
    private static final int MAX_UNUSED = 65536;

    final NetAgent agent;

    /** Guarded by this object, as the two below. */
    private final LinkedHashMap<Number16, Root> unused = new LinkedHashMap<>();

    private final LinkedHashMap<Number16, Root> active = new LinkedHashMap<>();
    private final LinkedHashMap<Number16, Root> ended = new LinkedHashMap<>();

    Roots(NetAgent agent) {
        this.agent = agent;
    }

    /** From now on ranks can meet at this id. */
    synchronized void create(IdContent id) {
        Root made = new Root(this, id);
        unused.put(made.number, made);
        if (unused.size() > MAX_UNUSED) {
            unused.pollFirstEntry();
        }
    }

    /** The root with this number, or null if it is not known. */
    synchronized @Nullable Root find(byte[] number16) {
        Number16 number = Number16.of(number16);
        Root root = unused.get(number);
        if (root == null) {
            root = active.get(number);
        }
        return root != null ? root : ended.get(number);
    }

    /** No connection can be accepted for now; on the thread jccl-net. */
    void cannotAccept(String why) {
        List<Root> all;
        synchronized (this) {
            all = List.copyOf(active.values());
        }
        all.forEach(root -> root.cannotAccept(why));
    }

    /** A rank has come; whether it is the first, as far as this process knows. */
    synchronized boolean use(Root root) {
        boolean first = unused.remove(root.number) != null;
        if (first) {
            active.put(root.number, root);
        }
        return first;
    }

    /** The last rank has gone. */
    synchronized void ended(Root root) {
        if (active.remove(root.number) != null) {
            ended.put(root.number, root);
            if (ended.size() > MAX_ENDED) {
                ended.pollFirstEntry();
            }
        }
    }
}
