package org.jccl.reduce;

import static org.jccl.platform.Memory.ALL;
import static org.jccl.reduce.Fold.AVG;
import static org.jccl.reduce.Fold.SUM;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Folds 8-bit floats through heap tiles, accumulating in float32 and rounding once. C2 vectorises
 * all loops but the one that looks values up: between floats and their bits it needs a copy from
 * array to array, and the narrowing of ints needs a loop of its own.
 */
final class StagedFloat8 {
    private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;

    /** So many floats are a tile. */
    private static final int ELEMENTS = StagedFold.TILE_BYTES / 4;

    private static final ThreadLocal<Tiles> TILES = ThreadLocal.withInitial(Tiles::new);

    private StagedFloat8() {}

    static void fold(Float8 format, int op, long dst, long[] sources, int n, long count) {
        Tiles tiles = TILES.get();
        for (long done = 0; done < count; done += ELEMENTS) {
            int m = (int) Math.min(ELEMENTS, count - done);
            MemorySegment.copy(ALL, I8, sources[0] + done, tiles.codes, 0, m);
            format.decode(tiles.folded, tiles.codes, m);
            for (int k = 1; k < n; k++) {
                MemorySegment.copy(ALL, I8, sources[k] + done, tiles.codes, 0, m);
                format.decode(tiles.next, tiles.codes, m);
                StagedFloat32.combine(op, tiles.folded, tiles.next, m);
            }
            if (op == AVG) {
                StagedFloat32.divide(tiles.folded, n, m);
            }
            tiles.encode(format, m);
            MemorySegment.copy(tiles.codes, 0, ALL, I8, dst + done, m);
        }
    }

    private static final class Tiles {
        final byte[] codes = new byte[ELEMENTS];
        final float[] folded = new float[ELEMENTS];
        final float[] next = new float[ELEMENTS];
        private final int[] bits = new int[ELEMENTS];
        private final int[] sums = new int[ELEMENTS];
        private final int[] anchors = new int[ELEMENTS];
        private final MemorySegment foldedSegment = MemorySegment.ofArray(folded);
        private final MemorySegment nextSegment = MemorySegment.ofArray(next);
        private final MemorySegment bitsSegment = MemorySegment.ofArray(bits);
        private final MemorySegment sumsSegment = MemorySegment.ofArray(sums);
        private final MemorySegment anchorsSegment = MemorySegment.ofArray(anchors);

        /** Rounds the folded floats to codes, as {@link Float8#encode} does with one. */
        void encode(Float8 format, int m) {
            long bytes = 4L * m;
            MemorySegment.copy(foldedSegment, 0, bitsSegment, 0, bytes);
            anchor(format, sums, anchors, bits, m);
            MemorySegment.copy(sumsSegment, 0, foldedSegment, 0, bytes);
            MemorySegment.copy(anchorsSegment, 0, nextSegment, 0, bytes);
            StagedFloat32.combine(SUM, folded, next, m);
            MemorySegment.copy(foldedSegment, 0, sumsSegment, 0, bytes);
            code(format, sums, anchors, bits, m);
            narrow(codes, sums, m);
        }

        private static void anchor(
                Float8 format, int[] magnitudes, int[] anchors, int[] bits, int m) {
            for (int i = 0; i < m; i++) {
                int magnitude = format.magnitude(bits[i]);
                magnitudes[i] = magnitude;
                anchors[i] = format.anchor(magnitude);
            }
        }

        private static void code(Float8 format, int[] sums, int[] anchors, int[] bits, int m) {
            for (int i = 0; i < m; i++) {
                sums[i] = format.code(bits[i], anchors[i], sums[i]);
            }
        }

        private static void narrow(byte[] codes, int[] wide, int m) {
            for (int i = 0; i < m; i++) {
                codes[i] = (byte) wide[i];
            }
        }
    }
}
