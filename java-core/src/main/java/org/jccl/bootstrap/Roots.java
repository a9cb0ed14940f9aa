package org.jccl.bootstrap;

import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The rendezvous whose ids this process made. The oldest are forgotten first: of those that have
 * ended, and of those that nobody ever used.
 */
final class Roots {
    private static final int MAX_ENDED = 4096;
    private static final int MAX_UNUSED = 65536;

    private final NetAgent agent;
    // Any thread adds, jccl-net removes; as the next one.
    private final Set<Number16> made = ConcurrentHashMap.newKeySet();
    // Of those, the ids that somebody has used.
    private final Set<Number16> taken = ConcurrentHashMap.newKeySet();
    // These three belong to the thread jccl-net.
    private final Map<Number16, Root> unused = new LinkedHashMap<>();
    private final Map<Number16, Root> active = new LinkedHashMap<>();
    private final Map<Number16, Root> ended = new LinkedHashMap<>();

    Roots(NetAgent agent) {
        this.agent = agent;
    }

    /** From now on ranks can meet at this id. */
    void create(IdContent id) {
        Number16 number = Number16.of(id.number());
        made.add(number);
        agent.submit(
                () -> {
                    unused.put(number, new Root(this, agent, number, Rendezvous.key(id)));
                    limit(unused, MAX_UNUSED);
                });
    }

    boolean made(IdContent id) {
        return made.contains(Number16.of(id.number()));
    }

    /** A single rank needs no rendezvous; whether the id was still unused, as far as known here. */
    boolean useAlone(IdContent id) {
        Number16 number = Number16.of(id.number());
        if (!made.contains(number)) {
            return true;
        }
        boolean first = taken.add(number);
        agent.submit(
                () -> {
                    Root root = unused.get(number);
                    if (root != null) {
                        used(root);
                        root.end();
                    }
                });
        return first;
    }

    /** A rank of this process gives up before it has reached the root. */
    void giveUp(IdContent id, int rank, NcclException why) {
        Number16 number = Number16.of(id.number());
        agent.submit(
                () -> {
                    Root root = find(number);
                    if (root != null) {
                        String text = String.valueOf(why.getMessage());
                        root.gaveUp("rank " + rank, why.result(), text);
                    }
                });
    }

    /** No connection can be accepted for now; on the thread jccl-net. */
    void cannotAccept(String why) {
        active.values().forEach(root -> root.cannotAccept(why));
    }

    /** The root with this number, or null if it is not known; on the thread jccl-net. */
    @Nullable Root find(Number16 number) {
        Root root = known(number);
        if (root == null && made.contains(number)) {
            // A rank has come in the turn in which the id was made.
            agent.runCommands();
            root = known(number);
        }
        return root;
    }

    private @Nullable Root known(Number16 number) {
        Root root = unused.get(number);
        if (root == null) {
            root = active.get(number);
        }
        return root != null ? root : ended.get(number);
    }

    /** The first rank has come. */
    void used(Root root) {
        if (unused.remove(root.number()) != null) {
            taken.add(root.number());
            active.put(root.number(), root);
        }
    }

    /** The last rank has gone. */
    void ended(Root root) {
        if (active.remove(root.number()) != null) {
            ended.put(root.number(), root);
            limit(ended, MAX_ENDED);
        }
    }

    private void limit(Map<Number16, Root> map, int most) {
        Iterator<Number16> oldest = map.keySet().iterator();
        while (map.size() > most) {
            Number16 number = oldest.next();
            made.remove(number);
            taken.remove(number);
            oldest.remove();
        }
    }
}
