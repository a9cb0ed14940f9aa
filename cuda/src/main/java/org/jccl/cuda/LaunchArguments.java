package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** What a kernel of {@code exchange.cu} is told, as its struct {@code Arguments} has it. */
final class LaunchArguments {
    static final int MOST_RANKS = 8;
    private static final int IN = 64;
    private static final int OUT = 72;
    private static final int BYTES = 80;
    private static final int IN_STRIDE = 88;
    private static final int OUT_STRIDE = 96;
    private static final int STOP = 104;
    private static final int STARTED = 112;
    private static final int DONE = 120;
    private static final int USE = 128;
    private static final int RANK = 136;
    private static final int RANKS = 140;
    private static final int READERS = 144;
    private static final int SOURCES = 148;
    private static final int ROOTED = 152;
    private static final int DIVISOR = 156;
    private static final int SLOT_LINES = 160;
    private static final int SIZE = 168;

    private final int rank;
    private final int nRanks;
    private final MemorySegment struct;
    private final Launch launch;

    /**
     * The arguments of a rank's kernels.
     *
     * @param memory by rank, where this rank reaches its memory
     * @param stop the host's word that ends kernels
     */
    LaunchArguments(Arena arena, int rank, long[] memory, long stop, int slotLines) {
        this.rank = rank;
        this.nRanks = memory.length;
        struct = arena.allocate(SIZE, Long.BYTES);
        for (int q = 0; q < nRanks; q++) {
            struct.setAtIndex(ValueLayout.JAVA_LONG, q, memory[q]);
        }
        put(STOP, stop);
        putInt(RANK, rank);
        putInt(RANKS, nRanks);
        putInt(SLOT_LINES, slotLines);
        launch = new Launch(arena, struct);
    }

    private void put(int at, long value) {
        struct.set(ValueLayout.JAVA_LONG, at, value);
    }

    private void putInt(int at, int value) {
        struct.set(ValueLayout.JAVA_INT, at, value);
    }

    /** How kernels with these arguments are launched. */
    Launch launch() {
        return launch;
    }

    /** Which words the kernel is to write; 0 for none. */
    void words(long started, long done, long use) {
        put(STARTED, started);
        put(DONE, done);
        put(USE, use);
    }

    /** Describes a call. */
    void describe(Call call) {
        Operation op = call.operation();
        Roles roles = Roles.of(call, rank, nRanks);
        put(IN, call.input());
        put(OUT, call.output());
        put(BYTES, call.partBytes());
        put(IN_STRIDE, roles.inStride());
        put(OUT_STRIDE, roles.outStride());
        putInt(READERS, roles.readers());
        putInt(SOURCES, roles.sources());
        putInt(ROOTED, op.rooted() ? 1 : 0);
        putInt(DIVISOR, op.reduces() && call.redOp() == RedOp.AVG.number() ? nRanks : 0);
    }
}
