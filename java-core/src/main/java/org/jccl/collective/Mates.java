package org.jccl.collective;

import static java.util.stream.Collectors.collectingAndThen;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Shape;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/** A rank's node in a call, and which of its ranks deals with which rank's data. */
final class Mates {
    private final Nodes nodes;
    private final int node;
    private final int[] others;
    private final int[] ownAgents;
    private final int[] farAgentsByNode;
    private final Map<Integer, int[]> owners;

    Mates(Shape shape, int rank) {
        this.nodes = shape.nodes();
        this.node = nodes.of(rank);
        this.others = IntStream.of(all()).filter(q -> q != rank).toArray();
        this.ownAgents = IntStream.range(0, nodes.count()).map(h -> nodes.agent(h, rank)).toArray();
        this.farAgentsByNode = IntStream.of(ownAgents).filter(q -> q != rank).toArray();
        this.owners =
                IntStream.range(0, nodes.nRanks())
                        .boxed()
                        .collect(groupingBy(this::agent, collectingAndThen(toList(), Mates::ints)));
    }

    private static int[] ints(List<Integer> list) {
        return list.stream().mapToInt(Integer::intValue).toArray();
    }

    /** Ranks of the communicator. */
    int nRanks() {
        return nodes.nRanks();
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

    /** The ranks of the other nodes that deal with what the own rank owns, in the order of nodes. */
    int[] farAgentsByNode() {
        return farAgentsByNode;
    }

    /** The same, ascending. */
    int[] farAgents() {
        return IntStream.of(farAgentsByNode).sorted().toArray();
    }

    /**
     * The ranks that read what the own rank has for all: its mates and its agents elsewhere,
     * ascending.
     */
    int[] othersAndFarAgents() {
        IntStream both = IntStream.concat(IntStream.of(others), IntStream.of(farAgentsByNode));
        return both.sorted().toArray();
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
        return Objects.requireNonNull(owners.get(agent));
    }
}
