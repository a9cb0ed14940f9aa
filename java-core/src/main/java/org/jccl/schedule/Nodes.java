package org.jccl.schedule;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Which ranks of a communicator share a node. Nodes are numbered in the order of their first ranks,
 * the ranks of a node in their own order.
 */
public final class Nodes {
    private final int[] nodeOf;
    private final int[] localOf;
    private final int[][] ranks;

    private Nodes(int[] nodeOf) {
        if (nodeOf.length == 0) {
            throw new IllegalArgumentException("no ranks");
        }
        this.nodeOf = nodeOf;
        this.localOf = new int[nodeOf.length];
        this.ranks = new int[Arrays.stream(nodeOf).max().orElse(0) + 1][];
        int[] sizes = new int[ranks.length];
        for (int r = 0; r < nodeOf.length; r++) {
            localOf[r] = sizes[nodeOf[r]]++;
        }
        Arrays.setAll(ranks, h -> new int[sizes[h]]);
        for (int r = 0; r < nodeOf.length; r++) {
            ranks[nodeOf[r]][localOf[r]] = r;
        }
    }

    /** All ranks on one node. */
    public static Nodes one(int nRanks) {
        return new Nodes(new int[nRanks]);
    }

    /**
     * Nodes by what ranks say of each other.
     *
     * @param names by rank, equal for ranks of one node; any numbers
     */
    public static Nodes of(int[] names) {
        int[] nodeOf = new int[names.length];
        Map<Integer, Integer> numbers = new HashMap<>();
        for (int r = 0; r < names.length; r++) {
            int next = numbers.size();
            nodeOf[r] = numbers.computeIfAbsent(names[r], name -> next);
        }
        return new Nodes(nodeOf);
    }

    /** Ranks of the communicator. */
    public int nRanks() {
        return nodeOf.length;
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

    /**
     * The rank of {@code node} that deals with what {@code rank} owns: itself on its own node. Each
     * node's ranks share this work as evenly as the sizes of the nodes allow.
     */
    public int agent(int node, int rank) {
        int[] candidates = ranks[node];
        return candidates[localOf[rank] % candidates.length];
    }

    @Override
    public String toString() {
        return Arrays.deepToString(ranks);
    }
}
