package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Shape;

import java.util.stream.IntStream;

/** A rank's node in a call, and who deals there with what belongs to whom. */
final class Mates {
    private final Nodes nodes;
    private final int rank;
    private final int node;

    Mates(Shape shape, int rank) {
        this.nodes = shape.nodes();
        this.rank = rank;
        this.node = nodes.of(rank);
    }

    /** The ranks of the own node, the own included. */
    int[] all() {
        return nodes.ranks(node);
    }

    /** The other ranks of the own node. */
    int[] others() {
        return IntStream.of(all()).filter(q -> q != rank).toArray();
    }

    /** Who on the own node deals with what {@code owner} owns. */
    int agent(int owner) {
        return nodes.agent(node, owner);
    }

    /** Who deals on the other nodes with what the own rank owns, ascending. */
    int[] farAgents() {
        return IntStream.range(0, nodes.count())
                .filter(h -> h != node)
                .map(h -> nodes.agent(h, rank))
                .sorted()
                .toArray();
    }

    /** Who reads what the own rank has for all: its mates and its agents elsewhere, ascending. */
    int[] othersAndFarAgents() {
        return IntStream.concat(IntStream.of(others()), IntStream.of(farAgents()))
                .sorted()
                .toArray();
    }

    /** The ranks of other nodes whose things {@code agent}, of the own node, deals with. */
    int[] farOwners(int agent) {
        return IntStream.of(owners(agent)).filter(q -> nodes.of(q) != node).toArray();
    }

    /** The ranks whose things {@code agent}, of the own node, deals with: itself among them. */
    int[] owners(int agent) {
        return IntStream.range(0, nodes.nRanks()).filter(q -> agent(q) == agent).toArray();
    }
}
