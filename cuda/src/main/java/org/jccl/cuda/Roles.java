package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.Operation;

/** What a rank has to do with the others in a collective, of one call after the other. */
final class Roles {
    private final int rank;
    private final int nRanks;
    private int readers;
    private int sources;
    private long inStride;
    private long outStride;

    Roles(int rank, int nRanks) {
        this.rank = rank;
        this.nRanks = nRanks;
    }

    /** The roles in this call. */
    void of(Call call) {
        Operation op = call.operation();
        int root = call.peer();
        long bytes = call.partBytes();
        inStride = op.in() == Operation.Parts.EACH ? bytes : 0;
        outStride = op.out() == Operation.Parts.EACH ? bytes : 0;
        boolean sends = op.sends(rank, root);
        boolean receives = op.receives(rank, root);
        int reading = 0;
        int writing = 0;
        for (int q = 0; q < nRanks; q++) {
            reading |= sends && op.receives(q, root) ? 1 << q : 0;
            writing |= receives && op.sends(q, root) ? 1 << q : 0;
        }
        boolean there = call.input() + rank * inStride == call.output() + rank * outStride;
        int own = 1 << rank;
        readers = reading & ~own;
        sources = there && !op.reduces() ? writing & ~own : writing;
    }

    /** The set of those to whom the rank sends, itself not included. */
    int readers() {
        return readers;
    }

    /**
     * The set of those whose parts it takes; itself included, unless its own part lies where it is
     * to be.
     */
    int sources() {
        return sources;
    }

    /** From one rank's part of the input to the next one's in bytes; 0 for one part. */
    long inStride() {
        return inStride;
    }

    /** The same of the output. */
    long outStride() {
        return outStride;
    }
}
