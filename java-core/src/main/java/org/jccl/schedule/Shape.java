package org.jccl.schedule;

import org.jccl.type.Operation;
import org.jccl.type.Operation.Parts;

/**
 * All that an algorithm may know of a call that has been checked. Equal on all ranks.
 *
 * @param operation which
 * @param nodes where the ranks of the communicator are
 * @param root root rank of a rooted operation, else 0
 * @param count elements as in the NCCL call: per rank for AllGather (sent) and ReduceScatter
 *     (received)
 * @param elementBytes bytes of one element: 1, 2, 4 or 8
 * @param inPlace whether input and output are the same memory, {@link Operation#inPlaceDistance}
 *     apart
 * @param limits sizes of the areas
 */
public record Shape(
        Operation operation,
        Nodes nodes,
        int root,
        long count,
        int elementBytes,
        boolean inPlace,
        Limits limits) {
    /** Ranks of the communicator. */
    public int nRanks() {
        return nodes.nRanks();
    }

    /** Bytes of {@code count} elements. */
    public long bytes() {
        return count * elementBytes;
    }

    /** Whether a rank's input is read. */
    public boolean sends(int rank) {
        return operation.sends(rank, root);
    }

    /** Whether a rank's output is written. */
    public boolean receives(int rank) {
        return operation.receives(rank, root);
    }

    /** Where in an input the part for {@code receiver} begins. */
    public long inStart(int receiver) {
        return operation.in() == Parts.EACH ? receiver * bytes() : 0;
    }

    /** Where in an output the part of {@code sender} begins. */
    public long outStart(int sender) {
        return operation.out() == Parts.EACH ? sender * bytes() : 0;
    }

    /** Bytes of the input of each rank that sends. */
    public long inBytes() {
        return operation.inSize(bytes(), nRanks());
    }

    /** Bytes of the output of each rank that receives. */
    public long outBytes() {
        return operation.outSize(bytes(), nRanks());
    }
}
