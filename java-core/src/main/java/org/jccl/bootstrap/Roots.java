package org.jccl.bootstrap;

import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;

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
    private final Map<Number16, Root> known = new HashMap<>();

    private final SequencedSet<Root> unused = new LinkedHashSet<>();
    private final SequencedSet<Root> ended = new LinkedHashSet<>();

    Roots(NetAgent agent) {
        this.agent = agent;
    }

    /** From now on ranks can meet at this id. */
    synchronized void create(IdContent id) {
        Root made = new Root(this, id);
        keep(unused, made, MAX_UNUSED);
        known.put(made.number, made);
    }

    private void keep(SequencedSet<Root> some, Root root, int most) {
        some.add(root);
        if (some.size() > most) {
            known.remove(some.removeFirst().number);
        }
    }

    /** The root with this number, or null if it is not known. */
    synchronized @Nullable Root find(Number16 number) {
        return known.get(number);
    }

    /** No connection can be accepted for now; on the thread jccl-net. */
    void cannotAccept(String why) {
        List<Root> all;
        synchronized (this) {
            all = List.copyOf(known.values());
        }
        all.forEach(root -> root.cannotAccept(why));
    }

    /** A rank has come; whether it is the first, as far as this process knows. */
    synchronized boolean use(Root root) {
        return unused.remove(root);
    }

    /** The last rank has gone. */
    synchronized void ended(Root root) {
        if (known.containsKey(root.number)) {
            keep(ended, root, MAX_ENDED);
        }
    }
}
