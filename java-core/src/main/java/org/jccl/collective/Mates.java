package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Shape;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** A rank's node in a call, and which of its ranks deals with which rank's data. */
final class Mates {
    private final Nodes nodes;
    private final int node;
    private final int[] others;
    private final int[] ownAgents;
    private final int[] farAgents;
    private final int[][] owners;

    Mates(Shape shape, int rank) {
        this.nodes = shape.nodes();
        this.node = nodes.of(rank);
        this.others = IntStream.of(all()).filter(q -> q != rank).toArray();
        this.ownAgents = IntStream.range(0, nodes.count()).map(h -> nodes.agent(h, rank)).toArray();
        this.farAgents = IntStream.of(ownAgents).filter(q -> q != rank).sorted().toArray();
        List<List<Integer>> dealt = new ArrayList<>();
        for (int mate = 0; mate < all().length; mate++) {
            dealt.add(new ArrayList<>());
        }
        for (int q = 0; q < nodes.nRanks(); q++) {
            dealt.get(place(agent(q))).add(q);
        }
        this.owners = new int[dealt.size()][];
        Arrays.setAll(owners, i -> dealt.get(i).stream().mapToInt(Integer::intValue).toArray());
    }

    /** The ranks of the own node, the own included. */
    int[] all() {
        return nodes.ranks(node);
    }

    /** Whether nobody else is on the own node. */
    boolean none() {
        return others.length == 0;
    }

    /** The other ranks of the own node. */
    int[] others() {
        return others;
    }

    /** The rank of the own node that deals with what {@code owner} owns. */
    int agent(int owner) {
        return nodes.agent(node, owner);
    }

    /** The ranks that deal with what the own rank owns, itself included, in the order of nodes. */
    int[] ownAgents() {
        return ownAgents;
    }

    /** The ranks of the other nodes that deal with what the own rank owns, ascending. */
    int[] farAgents() {
        return farAgents;
    }

    /**
     * The ranks that read what the own rank has for all: its mates and its agents elsewhere,
     * ascending.
     */
    int[] othersAndFarAgents() {
        return IntStream.concat(IntStream.of(others), IntStream.of(farAgents)).sorted().toArray();
    }

    /** The ranks of other nodes whose data {@code agent}, a rank of the own node, deals with. */
    int[] farOwners(int agent) {
        return IntStream.of(owners(agent)).filter(q -> q != agent).toArray();
    }

    /**
     * The ranks whose data {@code agent}, a rank of the own node, deals with, itself included;
     * ascending.
     */
    int[] owners(int agent) {
        return owners[place(agent)];
    }

    private int place(int mate) {
        return Arrays.binarySearch(all(), mate);
    }
}
