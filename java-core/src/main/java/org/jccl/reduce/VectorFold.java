package org.jccl.reduce;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * At the speed of C once it is compiled. Two sources at a time, each source read once; with more
 * sources the intermediate result stays in a tile that fits the first-level cache. Loaded by name,
 * because the Vector API's module may be absent.
 */
final class VectorFold implements Fold {
    /**
     * Bytes of the tile that holds intermediate results; a quarter of a small first-level cache.
     */
    static final int TILE_BYTES = 8192;

    private static final StagedFold STAGED = new StagedFold();
    private static final ThreadLocal<Tile> TILE = ThreadLocal.withInitial(Tile::new);

    @Override
    public void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        if (!isVectorised(dataType, redOp)) {
            STAGED.fold(dataType, redOp, dst, sources, n, count);
        } else if (n == 2) {
            pair(dataType, redOp, dst, sources[0], sources[1], count, n);
        } else if (dataType == BFLOAT16 && redOp != MAX && redOp != MIN) {
            foldBfloat16(redOp, dst, sources, n, count);
        } else {
            foldTiles(dataType, redOp, dst, sources, n, count);
        }
    }

    /** Whether this variant has loops of its own for the pair; the others are staged. */
    static boolean isVectorised(int dataType, int redOp) {
        return switch (dataType) {
            case FLOAT16 -> false;
            case FLOAT32, FLOAT64, BFLOAT16 -> true;
            default -> redOp != AVG;
        };
    }

    private static void foldTiles(int type, int op, long dst, long[] sources, int n, long count) {
        long tile = TILE.get().address;
        int size = Fold.sizeBytes(type);
        int elements = TILE_BYTES / size;
        int inner = op == AVG ? SUM : op;
        for (long done = 0; done < count; done += elements) {
            long m = Math.min(elements, count - done);
            long at = done * size;
            pair(type, inner, tile, sources[0] + at, sources[1] + at, m, n);
            for (int k = 2; k < n - 1; k++) {
                pair(type, inner, tile, tile, sources[k] + at, m, n);
            }
            pair(type, op, dst + at, tile, sources[n - 1] + at, m, n);
        }
    }

    private static void foldBfloat16(int op, long dst, long[] sources, int n, long count) {
        long tile = TILE.get().address;
        int elements = TILE_BYTES / 4;
        for (long done = 0; done < count; done += elements) {
            long m = Math.min(elements, count - done);
            long at = done * 2;
            if (op == PROD) {
                VectorBfloat16.prodWide(tile, sources[0] + at, sources[1] + at, m);
                for (int k = 2; k < n - 1; k++) {
                    VectorBfloat16.prodOnto(tile, sources[k] + at, m);
                }
                VectorBfloat16.prodAndRound(dst + at, tile, sources[n - 1] + at, m);
            } else {
                VectorBfloat16.sumWide(tile, sources[0] + at, sources[1] + at, m);
                for (int k = 2; k < n - 1; k++) {
                    VectorBfloat16.sumOnto(tile, sources[k] + at, m);
                }
                if (op == AVG) {
                    VectorBfloat16.averageAndRound(dst + at, tile, sources[n - 1] + at, m, n);
                } else {
                    VectorBfloat16.sumAndRound(dst + at, tile, sources[n - 1] + at, m);
                }
            }
        }
    }

    private static void pair(int type, int op, long dst, long a, long b, long count, int n) {
        switch (type) {
            case INT8 -> VectorInt8.pair(op, false, dst, a, b, count);
            case UINT8 -> VectorInt8.pair(op, true, dst, a, b, count);
            case INT32 -> VectorInt32.pair(op, false, dst, a, b, count);
            case UINT32 -> VectorInt32.pair(op, true, dst, a, b, count);
            case INT64 -> VectorInt64.pair(op, false, dst, a, b, count);
            case UINT64 -> VectorInt64.pair(op, true, dst, a, b, count);
            case FLOAT32 -> VectorFloat32.pair(op, dst, a, b, count, n);
            case FLOAT64 -> VectorFloat64.pair(op, dst, a, b, count, n);
            case BFLOAT16 -> VectorBfloat16.pair(op, dst, a, b, count, n);
            default -> throw new IllegalArgumentException("no vector reduction of type " + type);
        }
    }

    /** A thread's native tile, freed by the collector after the thread has ended. */
    private static final class Tile {
        private final MemorySegment segment = Arena.ofAuto().allocate(TILE_BYTES, 64);
        final long address = segment.address();
    }
}
