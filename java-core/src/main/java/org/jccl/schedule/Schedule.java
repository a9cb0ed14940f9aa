package org.jccl.schedule;

import java.util.List;

/**
 * What one rank does in one call, or one rank of a pair in one message. The tests check that what
 * algorithms write keeps to the rules of {@link Step}; at run time nobody does.
 *
 * @param rank the own rank
 * @param nRanks ranks of the communicator
 * @param steps in order; empty when there is nothing to do
 * @param order in which contributions are folded, where the operation reduces
 * @param sequenceNumbers by how much the call advances the communicator's sequence base, or a
 *     message that of its lane in each round: equal on all ranks and at least the greatest delta of
 *     any rank's flags
 */
public record Schedule(int rank, int nRanks, List<Step> steps, Order order, int sequenceNumbers) {

    /** Orders of reduction. */
    public enum Order {
        /** Ranks 0 to n-1, as one fold. */
        RANKS,
        /** The ranks of each node ascending, then the nodes, by their first ranks. */
        NODES
    }
}
