package org.jccl.schedule;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Which ranks of a communicator share a node. Nodes are numbered in the order of their first ranks,
 * the ranks of a node in their own order.
 */
public final class Nodes {
    private final int[] nodeOf;
    private final int[][] ranks;
    private final boolean readable;

    private Nodes(int[] nodeOf, boolean readable) {
        if (nodeOf.length == 0) {
            throw new IllegalArgumentException("no ranks");
        }
        this.nodeOf = nodeOf;
        this.readable = readable;
        this.ranks = new int[Arrays.stream(nodeOf).max().orElse(0) + 1][];
        int[] sizes = new int[ranks.length];
        for (int node : nodeOf) {
            sizes[node]++;
        }
        Arrays.setAll(ranks, h -> new int[sizes[h]]);
        for (int r = nodeOf.length - 1; r >= 0; r--) {
            ranks[nodeOf[r]][--sizes[nodeOf[r]]] = r;
        }
    }

    /** All ranks on one node. */
    public static Nodes one(int nRanks) {
        return new Nodes(new int[nRanks], false);
    }

    /** The same nodes, where every rank can read the callers' buffers of all others on its node. */
    public Nodes withReadableBuffers() {
        return new Nodes(nodeOf, true);
    }

    /** Whether ranks can read the callers' buffers of all others on their nodes. */
    public boolean readable() {
        return readable;
    }

    /** Whether all ranks can read the callers' buffers of all. */
    public boolean allReadable() {
        return readable && ranks.length == 1;
    }

    /** Ranks of the communicator. */
    public int nRanks() {
        return nodeOf.length;
    }

    /** Whether two ranks reach each other's memory. */
    public interface Sharing {
        /** The same for (q, r) as for (r, q), and on all ranks. */
        boolean between(int q, int r);

        /** A number, the same only for ranks that share with the same ranks. */
        default int kind(int q) {
            return q;
        }
    }

    /**
     * Nodes on which all ranks share with each other; where several divisions are possible, lower
     * ranks come first. The time grows with ranks times kinds.
     */
    public static Nodes of(int nRanks, Sharing sharing) {
        int[] nodeOf = new int[nRanks];
        List<List<Integer>> nodes = new ArrayList<>();
        for (int q = 0; q < nRanks; q++) {
            boolean asBefore =
                    q > 0 && sharing.kind(q) == sharing.kind(q - 1) && sharing.between(q, q - 1);
            nodeOf[q] = asBefore ? nodeOf[q - 1] : join(nodes, q, sharing);
        }
        return new Nodes(nodeOf, false);
    }

    /** Puts a rank on a node; the lists hold one rank of each kind there. */
    private static int join(List<List<Integer>> nodes, int q, Sharing sharing) {
        int node = 0;
        while (node < nodes.size()
                && !nodes.get(node).stream().allMatch(r -> sharing.between(q, r))) {
            node++;
        }
        if (node == nodes.size()) {
            nodes.add(new ArrayList<>());
        }
        List<Integer> ofEachKind = nodes.get(node);
        if (ofEachKind.stream().noneMatch(r -> sharing.kind(r) == sharing.kind(q))) {
            ofEachKind.add(q);
        }
        return node;
    }

    /** Number of nodes. */
    public int count() {
        return ranks.length;
    }

    /** The node of a rank. */
    public int of(int rank) {
        return nodeOf[rank];
    }

    /** The ranks of a node, ascending; not to be changed. */
    public int[] ranks(int node) {
        return ranks[node];
    }

    /** Whether there are several nodes, and several ranks on one of them. */
    public boolean deep() {
        return ranks.length > 1 && ranks.length < nodeOf.length;
    }

    /** How many ranks of other nodes there are for a rank of the smallest one. */
    public int mostFar() {
        return nodeOf.length - Arrays.stream(ranks).mapToInt(each -> each.length).min().orElse(0);
    }

    /**
     * The rank of {@code node} that deals with what {@code rank} owns: itself on its own node. The
     * ranks of a node share evenly what the ranks elsewhere own.
     */
    public int agent(int node, int rank) {
        if (nodeOf[rank] == node) {
            return rank;
        }
        int[] candidates = ranks[node];
        int below = -1 - Arrays.binarySearch(candidates, rank);
        return candidates[(rank - below) % candidates.length];
    }

    @Override
    public String toString() {
        return Arrays.deepToString(ranks) + (readable ? ", readable" : "");
    }
}
