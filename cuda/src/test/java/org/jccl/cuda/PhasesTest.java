package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class PhasesTest {
    private static final long IN = 1L << 40;
    private static final long OUT = 1L << 41;
    private static final int ROOT = 1;

    private static Call call(Operation op, long count, DataType type) {
        return new Call()
                .of(op)
                .buffers(IN, OUT)
                .elements(count, type.number())
                .reducedBy(RedOp.AVG.number())
                .with(ROOT);
    }

    private static void requirePhase(
            Call phase, Operation op, long in, long out, long count, Call of) {
        assertEquals(op, phase.operation());
        assertEquals(in, phase.input());
        assertEquals(out, phase.output());
        assertEquals(count, phase.count());
        assertEquals(of.type(), phase.type());
        if (op.reduces()) {
            assertEquals(of.redOp(), phase.redOp());
        }
        if (op.rooted()) {
            assertEquals(ROOT, phase.peer());
        }
    }

    private static void requireParts(Operation op, Operation first, int nRanks, Call call) {
        int size = call.type().sizeBytes();
        for (int rank = 0; rank < nRanks; rank++) {
            Phases phases = new Phases(rank, nRanks);
            int n = phases.of(call);
            long part = phases.phase(0).count();
            long rest = call.count() - nRanks * part;
            long own = OUT + rank * part * size;
            assertEquals(0, part * size % 16);
            assertEquals(true, rest >= 0 && rest * size < nRanks * 16L);
            requirePhase(phases.phase(0), first, IN, own, part, call);
            requirePhase(phases.phase(1), Operation.ALL_GATHER, own, OUT, part, call);
            assertEquals(rest == 0 ? 2 : 3, n);
            if (rest > 0) {
                long behind = nRanks * part * size;
                requirePhase(phases.phase(2), op, IN + behind, OUT + behind, rest, call);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void partsAndTheRestAreTheWhole(DataType type) {
        for (int nRanks = 3; nRanks <= 8; nRanks++) {
            for (long bytes : new long[] {1 << 22, (1 << 22) + 8, (1 << 22) + 4096}) {
                long count = bytes / type.sizeBytes();
                Call sum = call(Operation.ALL_REDUCE, count, type);
                requireParts(Operation.ALL_REDUCE, Operation.REDUCE_SCATTER, nRanks, sum);
                Call copy = call(Operation.BROADCAST, count, type);
                requireParts(Operation.BROADCAST, Operation.SCATTER, nRanks, copy);
            }
        }
    }

    private static void requireWhole(int nRanks, Call call) {
        Phases phases = new Phases(0, nRanks);
        assertEquals(1, phases.of(call));
        assertSame(call, phases.phase(0));
    }

    @Test
    void othersAreNotDivided() {
        requireWhole(2, call(Operation.ALL_REDUCE, 1 << 28, DataType.FLOAT32));
        requireWhole(4, call(Operation.ALL_REDUCE, 1000, DataType.FLOAT32));
        requireWhole(4, call(Operation.BROADCAST, 1000, DataType.FLOAT32));
        requireWhole(4, call(Operation.BROADCAST, 1 << 28, DataType.FLOAT32));
        requireWhole(4, call(Operation.ALL_GATHER, 1 << 28, DataType.FLOAT32));
        requireWhole(4, call(Operation.REDUCE, 1 << 28, DataType.FLOAT32));
    }
}
