package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.Operation;

/**
 * The kernels of which a collective consists. Where a rank would send the same large buffer to
 * several others, there are several: an all-reduce is a reduce-scatter and an all-gather, a
 * broadcast for which ranks do not relay parts a scatter and an all-gather, after van de Geijn. For
 * n ranks and s bytes a rank sends at most 2 (n - 1) / n s instead of (n - 1) s. The few elements
 * that n equal parts leave over follow as a call of the same operation.
 */
final class Phases {
    /** For less the second launch takes longer than it saves. */
    private static final long FROM_BYTES = 2 << 20;

    /** Parts begin at multiples of so many bytes. */
    private static final int ALIGNMENT = 16;

    private final int rank;
    private final int nRanks;
    private final Call scatter = new Call();
    private final Call gather = new Call();
    private final Call rest = new Call();
    private final Call[] phases = new Call[3];

    Phases(int rank, int nRanks) {
        this.rank = rank;
        this.nRanks = nRanks;
    }

    /** Divides a call; how many phases it has, the same on all ranks. */
    int of(Call call) {
        Operation op = call.operation();
        boolean same = op == Operation.ALL_REDUCE || op == Operation.BROADCAST;
        boolean divided = same && nRanks > 2 && call.partBytes() >= FROM_BYTES;
        if (!divided || Roles.relays(call, nRanks)) {
            phases[0] = call;
            return 1;
        }
        int type = call.typeNumber();
        int size = call.type().sizeBytes();
        long part = call.count() / nRanks / (ALIGNMENT / size) * (ALIGNMENT / size);
        long own = call.output() + rank * part * size;
        long over = call.count() - part * nRanks;
        long behind = part * nRanks * size;
        boolean reduces = op == Operation.ALL_REDUCE;
        scatter.of(reduces ? Operation.REDUCE_SCATTER : Operation.SCATTER)
                .buffers(call.input(), own)
                .elements(part, type)
                .reducedBy(call.redOp())
                .with(call.peer());
        gather.of(Operation.ALL_GATHER).buffers(own, call.output()).elements(part, type);
        rest.of(op)
                .buffers(call.input() + behind, call.output() + behind)
                .elements(over, type)
                .reducedBy(call.redOp())
                .with(call.peer());
        phases[0] = scatter;
        phases[1] = gather;
        phases[2] = rest;
        return over > 0 ? 3 : 2;
    }

    /** One of the phases of the latest call, from 0. */
    Call phase(int i) {
        return phases[i];
    }
}
