package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.Operation;

/**
 * What a rank has to do with the others in a collective.
 *
 * @param readers the set of those to whom it sends, itself not included
 * @param sources the set of those whose parts it takes; itself included, unless its own part lies
 *     where it is to be
 * @param inStride from one rank's part of the input to the next one's in bytes; 0 for one part
 * @param outStride the same of the output
 */
record Roles(int readers, int sources, long inStride, long outStride) {
    static Roles of(Call call, int rank, int nRanks) {
        Operation op = call.operation();
        int root = call.peer();
        long bytes = call.partBytes();
        long inStride = op.in() == Operation.Parts.EACH ? bytes : 0;
        long outStride = op.out() == Operation.Parts.EACH ? bytes : 0;
        boolean sends = op.sends(rank, root);
        boolean receives = op.receives(rank, root);
        int readers = 0;
        int sources = 0;
        for (int q = 0; q < nRanks; q++) {
            readers |= sends && op.receives(q, root) ? 1 << q : 0;
            sources |= receives && op.sends(q, root) ? 1 << q : 0;
        }
        boolean there = call.input() + rank * inStride == call.output() + rank * outStride;
        int own = 1 << rank;
        return new Roles(
                readers & ~own,
                there && !op.reduces() ? sources & ~own : sources,
                inStride,
                outStride);
    }
}
