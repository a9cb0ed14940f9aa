package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;

/**
 * What a kernel of {@code exchange.cu} or {@code pieces.cu} is told, as the struct {@code
 * Arguments} has it.
 */
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
    private static final int ALL = 136;
    private static final int RANK = 144;
    private static final int RANKS = 148;
    private static final int READERS = 152;
    private static final int SOURCES = 156;
    private static final int ROOTED = 160;
    private static final int DIVISOR = 164;
    private static final int SLOT_LINES = 168;
    private static final int ROOTLESS = 172;
    private static final int RELAYS = 176;
    private static final int RELAYED = 180;
    private static final int SIZE = 184;

    private final int rank;
    private final int nRanks;
    private final Struct struct;
    private final Launch launch;

    // The call before, since most calls differ from it in their buffers at most.
    private @Nullable Operation operation;
    private int root;
    private int redOp;
    private long bytes;
    private long distance;

    /**
     * The arguments of a rank's kernels.
     *
     * @param memory by rank, where this rank reaches its memory
     * @param stop the host's word that ends kernels
     */
    LaunchArguments(Arena arena, int rank, long[] memory, long stop, int slotLines) {
        this.rank = rank;
        nRanks = memory.length;
        struct = new Struct(arena, SIZE);
        for (int q = 0; q < nRanks; q++) {
            struct.put(q * Long.BYTES, memory[q]);
        }
        struct.put(STOP, stop);
        struct.putInt(RANK, rank);
        struct.putInt(RANKS, nRanks);
        struct.putInt(SLOT_LINES, slotLines);
        launch = new Launch(arena, struct);
    }

    /** How kernels with these arguments are launched. */
    Launch launch() {
        return launch;
    }

    /** Ends the description with the words that the kernel is to write; 0 for none. */
    void words(long started, long done, long use) {
        struct.put(STARTED, started);
        struct.put(DONE, done);
        struct.put(USE, use);
        launch.show(SIZE);
    }

    /** Begins the description of a call. */
    void describe(Call call) {
        struct.put(IN, call.input());
        struct.put(OUT, call.output());
        if (!alike(call)) {
            remember(call);
            describe(call.operation(), Roles.of(call, rank, nRanks));
        }
    }

    /** Whether a call has the roles of the one before. */
    private boolean alike(Call call) {
        return call.operation() == operation
                && call.peer() == root
                && call.redOp() == redOp
                && call.partBytes() == bytes
                && call.output() - call.input() == distance;
    }

    private void remember(Call call) {
        operation = call.operation();
        root = call.peer();
        redOp = call.redOp();
        bytes = call.partBytes();
        distance = call.output() - call.input();
    }

    private void describe(Operation op, Roles roles) {
        struct.put(BYTES, roles.partBytes());
        struct.put(ALL, roles.allBytes());
        struct.put(IN_STRIDE, roles.inStride());
        struct.put(OUT_STRIDE, roles.outStride());
        struct.putInt(READERS, roles.readers());
        struct.putInt(SOURCES, roles.sources());
        struct.putInt(ROOTLESS, roles.rootless());
        struct.putInt(RELAYS, roles.relays());
        struct.putInt(RELAYED, roles.relayed());
        struct.putInt(ROOTED, op.rooted() ? 1 : 0);
        struct.putInt(DIVISOR, op.reduces() && redOp == RedOp.AVG.number() ? nRanks : 0);
    }
}
