package org.jccl.collective;

import static java.util.stream.Collectors.groupingBy;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Shape;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * A rank's node in a call, and which of its ranks deals with which rank's data.
 *
 * @param rank the own rank
 * @param others the other ranks of its node
 * @param ownAgents the ranks that deal with what the own rank owns, itself included, in the order
 *     of nodes
 * @param ownersOf by rank of the own node, the ranks whose data it deals with, ascending
 */
@SuppressWarnings("ArrayRecordComponent") // made once, nobody changes them
record Mates(
        Nodes nodes,
        int rank,
        int[] others,
        int[] ownAgents,
        Map<Integer, List<Integer>> ownersOf) {

    /** The mates of a rank in a call. */
    static Mates of(Shape shape, int rank) {
        Nodes nodes = shape.nodes();
        int node = nodes.of(rank);
        return new Mates(
                nodes,
                rank,
                IntStream.of(nodes.ranks(node)).filter(q -> q != rank).toArray(),
                IntStream.range(0, nodes.count()).map(h -> nodes.agent(h, rank)).toArray(),
                IntStream.range(0, nodes.nRanks())
                        .boxed()
                        .collect(groupingBy(q -> nodes.agent(node, q))));
    }

    /** The ranks of the own node, the own included. */
    int[] all() {
        return nodes.ranks(nodes.of(rank));
    }

    /** Whether nobody else is on the own node. */
    boolean none() {
        return others.length == 0;
    }

    /** The rank of the own node that deals with what {@code owner} owns. */
    int agent(int owner) {
        return nodes.agent(nodes.of(rank), owner);
    }

    /** The ranks of other nodes that deal with what the own rank owns, ascending. */
    int[] farAgents() {
        return IntStream.of(ownAgents).filter(q -> q != rank).sorted().toArray();
    }

    /**
     * The ranks that read what the own rank has for all: its mates and its agents elsewhere,
     * ascending.
     */
    int[] othersAndFarAgents() {
        return IntStream.concat(IntStream.of(others), IntStream.of(farAgents())).sorted().toArray();
    }

    /** The ranks of other nodes whose data {@code agent}, a rank of the own node, deals with. */
    int[] farOwners(int agent) {
        return owners(agent).stream().mapToInt(q -> q).filter(q -> q != agent).toArray();
    }

    /**
     * The ranks whose data {@code agent}, a rank of the own node, deals with, itself included;
     * ascending.
     */
    List<Integer> owners(int agent) {
        return Objects.requireNonNull(ownersOf.get(agent));
    }
}
