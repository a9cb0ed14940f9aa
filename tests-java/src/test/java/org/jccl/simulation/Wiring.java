package org.jccl.simulation;

import org.jccl.schedule.NamedNodes;
import org.jccl.schedule.Nodes;

import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * Which ranks share memory and which have a wire between them.
 *
 * @param name for messages
 * @param nodeOf the node of a rank
 * @param framesInFlight bound of frames of one direction of a wire that have not arrived
 */
record Wiring(String name, IntUnaryOperator nodeOf, int framesInFlight) {
    /** All ranks share memory. */
    static Wiring node() {
        return new Wiring("one node", r -> 0, 1);
    }

    /** Every pair has a wire. */
    static Wiring wires(int framesInFlight) {
        return new Wiring("wires", r -> r, framesInFlight);
    }

    /** Nodes of {@code ranksPerNode} ranks that follow each other, wires between them. */
    static Wiring nodesOf(int ranksPerNode, int framesInFlight) {
        return new Wiring("nodes of " + ranksPerNode, r -> r / ranksPerNode, framesInFlight);
    }

    /** The same number of nodes, which take the ranks in turn. */
    static Wiring inTurn(int nodes, int framesInFlight) {
        return new Wiring(nodes + " nodes in turn", r -> r % nodes, framesInFlight);
    }

    /** A node of one rank, one of two, one of three and so on. */
    static Wiring unequal(int framesInFlight) {
        IntUnaryOperator nodeOf = r -> (int) ((Math.sqrt(8.0 * r + 1) - 1) / 2);
        return new Wiring("unequal nodes", nodeOf, framesInFlight);
    }

    /** One node, none, and 2 to 6 of unequal size. */
    static List<Wiring> various(int nRanks) {
        return List.of(node(), wires(1), unequal(2), inTurn(2 + nRanks % 5, 2));
    }

    /** Whether two ranks have a wire between them. */
    boolean wired(int a, int b) {
        return nodeOf.applyAsInt(a) != nodeOf.applyAsInt(b);
    }

    /** The nodes of this many ranks. */
    Nodes nodes(int nRanks) {
        return NamedNodes.of(IntStream.range(0, nRanks).map(nodeOf).toArray());
    }

    @Override
    public String toString() {
        return name + ", " + framesInFlight + " frames";
    }
}
