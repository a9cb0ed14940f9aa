package org.jccl.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** A channel gets as many warps as the lanes of {@code transfers.cu} that its message takes. */
final class TransferArgumentsTest {
    private static final int LINE_DATA_BYTES = 120;
    private static final int LINES_OF_WARP = 4;
    private static final int MOST_LINES_EACH = 4;

    /** Of all lines of a message, how many so many warps move, as the kernel divides them. */
    private static long moved(long lines, int lanes, int spread, long warps) {
        long of = (long) LINES_OF_WARP * spread;
        long each = Math.min(Math.max((lines + of - 1) / of, 1), MOST_LINES_EACH);
        long chunk = each * LINES_OF_WARP;
        long moved = 0;
        for (long lane = 0; lane < warps; lane++) {
            for (long first = lane * chunk; first < lines; first += lanes * chunk) {
                moved += Math.min(chunk, lines - first);
            }
        }
        return moved;
    }

    @Test
    void warpsMoveAllLines() {
        for (int blocks = 1; blocks <= Kernels.MOST_BLOCKS; blocks *= 2) {
            for (int nRanks = 2; nRanks <= LaunchArguments.MOST_RANKS; nRanks++) {
                int lanes = TransferArguments.lanes(blocks, nRanks);
                int spread = TransferArguments.spread(lanes, nRanks);
                assertTrue(spread > 0 && spread <= lanes);
                for (long bytes = 0; bytes < 16 << 20; bytes += 1 + bytes / 3) {
                    long lines = (bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES;
                    long warps = Math.min(lanes, TransferArguments.chunks(bytes, spread));
                    String what = bytes + " bytes, " + nRanks + " ranks, " + blocks + " blocks";
                    assertEquals(lines, moved(lines, lanes, spread, warps), what);
                    boolean spare = warps > 0 && moved(lines, lanes, spread, warps - 1) == lines;
                    assertTrue(!spare, what);
                }
            }
        }
    }
}
