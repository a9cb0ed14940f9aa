package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.Operation;

/**
 * What a rank has to do with the others in a collective.
 *
 * @param readers the set of those to whom it sends its input, itself not included
 * @param sources the set of those whose input it takes; itself included, unless its own part lies
 *     where it is to be
 * @param relays the set of those for whom it relays its part
 * @param relayed the set of those who relay parts for it
 * @param rootless the rank that has no part, since the others relay theirs; if no rank relays, the
 *     number of ranks
 * @param partBytes bytes of a part
 * @param allBytes bytes of all parts together if ranks relay, when the last parts may be shorter
 * @param inStride from one rank's part of the input to the next one's in bytes; 0 for one part
 * @param outStride the same of the output
 */
record Roles(
        int readers,
        int sources,
        int relays,
        int relayed,
        int rootless,
        long partBytes,
        long allBytes,
        long inStride,
        long outStride) {
    /** Relayed parts begin at multiples of so many bytes. */
    private static final long ALIGNMENT = 16;

    static Roles of(Call call, int rank, int nRanks) {
        return relays(call, nRanks) ? relayed(call, rank, nRanks) : direct(call, rank, nRanks);
    }

    /** Whether ranks relay parts of a call. */
    static boolean relays(Call call, int nRanks) {
        Operation op = call.operation();
        boolean whole = op == Operation.BROADCAST || op == Operation.REDUCE;
        return whole && nRanks > 2 && Kernels.inPieces(call);
    }

    private static Roles direct(Call call, int rank, int nRanks) {
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
                0,
                0,
                nRanks,
                bytes,
                0,
                inStride,
                outStride);
    }

    private static Roles relayed(Call call, int rank, int nRanks) {
        int root = call.peer();
        boolean reduces = call.operation().reduces();
        int own = 1 << rank;
        int all = (1 << nRanks) - 1;
        int others = all & ~own & ~(1 << root);
        int readers = reduces || rank == root ? others : 0;
        int sources;
        if (rank == root) {
            sources = reduces || call.input() == call.output() ? 0 : own;
        } else {
            sources = reduces ? all : 1 << root;
        }
        int relays = rank == root ? 0 : reduces ? 1 << root : others;
        int relayed = reduces == (rank == root) ? others : 0;
        long bytes = call.partBytes();
        long parts = (nRanks - 1) * ALIGNMENT;
        long part = (bytes + parts - 1) / parts * ALIGNMENT;
        return new Roles(readers, sources, relays, relayed, root, part, bytes, part, part);
    }
}
