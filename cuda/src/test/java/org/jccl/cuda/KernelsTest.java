package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jccl.call.Call;
import org.jccl.type.Operation;
import org.junit.jupiter.api.Test;

/** The warps of a call's kernel suffice for its lines, and no block is without any. */
final class KernelsTest {
    private static final int LINE_DATA_BYTES = 120;
    private static final int LINES_OF_WARP = 4;
    private static final int THREADS_OF_WARP = 32;

    private static void requireEnough(Operation op, long bytes, int nRanks) {
        Call call = Calls.of(op, bytes, 0);
        int slotLines = SlotMemory.slotLines(nRanks);
        int most = Kernels.MOST_BLOCKS;
        int blocks = Kernels.blocks(call, nRanks, slotLines, most);
        int warps = Kernels.threads(call, nRanks) / THREADS_OF_WARP;
        // As exchange.cu divides them.
        int sets = op.reduces() ? warps : warps / nRanks;
        long atOnce = (long) sets * LINES_OF_WARP;
        long lines = Math.min(slotLines, (bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES);
        String what = op + " of " + bytes + " bytes by " + nRanks + " ranks";
        assertTrue(sets > 0, what);
        assertTrue(blocks == most || blocks * atOnce >= lines, what);
        assertTrue((blocks - 1) * atOnce < lines, what);
    }

    private static void requireShape(Operation op, int bytes, int nRanks, int blocks, int threads) {
        int slotLines = SlotMemory.slotLines(nRanks);
        Call call = Calls.of(op, bytes, 0);
        assertEquals(blocks, Kernels.blocks(call, nRanks, slotLines, Kernels.MOST_BLOCKS));
        assertEquals(threads, Kernels.threads(call, nRanks));
    }

    @Test
    void shapesOfSomeCalls() {
        requireShape(Operation.ALL_REDUCE, 8, 2, 1, 256);
        requireShape(Operation.ALL_REDUCE, 32 * 120, 8, 1, 256);
        requireShape(Operation.ALL_REDUCE, 32 * 120 + 1, 8, 2, 256);
        requireShape(Operation.ALL_GATHER, 4 * 120, 8, 1, 256);
        requireShape(Operation.ALL_GATHER, 4 * 120 + 1, 8, 2, 256);
        requireShape(Operation.ALL_GATHER, 8 * 120 + 1, 3, 2, 256);
        requireShape(Operation.ALL_GATHER, 256 << 10, 2, 128, 256);
        requireShape(Operation.ALL_GATHER, (256 << 10) + 1, 2, 69, 512);
    }

    @Test
    void warpsSufficeForLines() {
        for (Operation op : Calls.COLLECTIVES) {
            for (int nRanks = 1; nRanks <= LaunchArguments.MOST_RANKS; nRanks++) {
                for (long bytes = 1; bytes < 8 << 20; bytes += 1 + bytes / 3) {
                    requireEnough(op, bytes, nRanks);
                }
            }
        }
    }
}
