package org.jccl.simulation;

/**
 * Which ranks share memory and which have a wire between them.
 *
 * @param ranksPerNode consecutive ranks that share memory
 * @param framesInFlight bound of frames of one direction of a wire that have not arrived
 */
record Wiring(int ranksPerNode, int framesInFlight) {
    /** All ranks share memory. */
    static Wiring node() {
        return new Wiring(Integer.MAX_VALUE, 1);
    }

    /** Every pair has a wire. */
    static Wiring wires(int framesInFlight) {
        return new Wiring(1, framesInFlight);
    }

    /** Nodes of {@code ranksPerNode} ranks, wires between them. */
    static Wiring nodesOf(int ranksPerNode, int framesInFlight) {
        return new Wiring(ranksPerNode, framesInFlight);
    }

    /** Whether two ranks have a wire between them. */
    boolean wired(int a, int b) {
        return a / ranksPerNode != b / ranksPerNode;
    }
}
