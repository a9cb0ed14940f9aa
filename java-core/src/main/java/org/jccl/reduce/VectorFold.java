package org.jccl.reduce;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * At the speed of C once it is compiled. Each source is read once and the destination written once;
 * what does not fit one pass stays between passes in a tile that fits the first-level cache. The
 * classes that need the Vector API's module are linked at the first call only.
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
        } else if (redOp == SUM && n <= 4) {
            sums(dataType, dst, sources[0], sources, 1, n - 1, 0, count);
        } else if (dataType == BFLOAT16 && redOp != MAX && redOp != MIN) {
            foldBfloat16(redOp, dst, sources, n, count);
        } else if (redOp == SUM || redOp == AVG) {
            foldSums(dataType, redOp, dst, sources, n, count);
        } else {
            foldPairs(dataType, redOp, dst, sources, n, count);
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

    private static void foldPairs(int type, int op, long dst, long[] sources, int n, long count) {
        long tile = TILE.get().address;
        int size = Fold.sizeBytes(type);
        int elements = TILE_BYTES / size;
        for (long done = 0; done < count; done += elements) {
            long m = Math.min(elements, count - done);
            long at = done * size;
            pair(type, op, tile, sources[0] + at, sources[1] + at, m, n);
            for (int k = 2; k < n - 1; k++) {
                pair(type, op, tile, tile, sources[k] + at, m, n);
            }
            pair(type, op, dst + at, tile, sources[n - 1] + at, m, n);
        }
    }

    /** Up to three further sources in each pass: more streams from memory at once are faster. */
    private static void foldSums(int type, int op, long dst, long[] sources, int n, long count) {
        long tile = TILE.get().address;
        int size = Fold.sizeBytes(type);
        int elements = TILE_BYTES / size;
        int end = op == AVG ? n - 1 : n;
        for (long done = 0; done < count; done += elements) {
            long m = Math.min(elements, count - done);
            long at = done * size;
            long sum = sources[0] + at;
            for (int k = 1; k < end; k += 3) {
                int more = Math.min(3, end - k);
                long to = k + more == n ? dst + at : tile;
                sums(type, to, sum, sources, k, more, at, m);
                sum = to;
            }
            if (op == AVG) {
                pair(type, AVG, dst + at, sum, sources[n - 1] + at, m, n);
            }
        }
    }

    /** dst = first + sources[k] + … with {@code more} sources, 1 to 3, each at an offset. */
    private static void sums(
            int type, long dst, long first, long[] sources, int k, int more, long at, long count) {
        long b = sources[k] + at;
        if (more == 1) {
            pair(type, SUM, dst, first, b, count, 2);
        } else if (more == 2) {
            sum3(type, dst, first, b, sources[k + 1] + at, count);
        } else {
            sum4(type, dst, first, b, sources[k + 1] + at, sources[k + 2] + at, count);
        }
    }

    private static void foldBfloat16(int op, long dst, long[] sources, int n, long count) {
        long tile = TILE.get().address;
        int elements = TILE_BYTES / 4;
        for (long done = 0; done < count; done += elements) {
            long m = Math.min(elements, count - done);
            long at = done * 2;
            long a = sources[0] + at;
            long b = sources[1] + at;
            long last = sources[n - 1] + at;
            if (op == PROD) {
                VectorBfloat16Tile.prod(tile, a, b, m);
                for (int k = 2; k < n - 1; k++) {
                    VectorBfloat16Tile.multiplyTo(tile, sources[k] + at, m);
                }
                VectorBfloat16Tile.multiplyAndRound(dst + at, tile, last, m);
            } else {
                VectorBfloat16Tile.sum(tile, a, b, m);
                for (int k = 2; k < n - 1; k++) {
                    VectorBfloat16Tile.addTo(tile, sources[k] + at, m);
                }
                if (op == AVG) {
                    VectorBfloat16Tile.addDivideAndRound(dst + at, tile, last, m, n);
                } else {
                    VectorBfloat16Tile.addAndRound(dst + at, tile, last, m);
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

    private static void sum3(int type, long dst, long a, long b, long c, long count) {
        switch (type) {
            case INT8, UINT8 -> VectorInt8.sum3(dst, a, b, c, count);
            case INT32, UINT32 -> VectorInt32.sum3(dst, a, b, c, count);
            case INT64, UINT64 -> VectorInt64.sum3(dst, a, b, c, count);
            case FLOAT32 -> VectorFloat32.sum3(dst, a, b, c, count);
            case FLOAT64 -> VectorFloat64.sum3(dst, a, b, c, count);
            case BFLOAT16 -> VectorBfloat16.sum3(dst, a, b, c, count);
            default -> throw new IllegalArgumentException("no vector reduction of type " + type);
        }
    }

    private static void sum4(int type, long dst, long a, long b, long c, long d, long count) {
        switch (type) {
            case INT8, UINT8 -> VectorInt8.sum4(dst, a, b, c, d, count);
            case INT32, UINT32 -> VectorInt32.sum4(dst, a, b, c, d, count);
            case INT64, UINT64 -> VectorInt64.sum4(dst, a, b, c, d, count);
            case FLOAT32 -> VectorFloat32.sum4(dst, a, b, c, d, count);
            case FLOAT64 -> VectorFloat64.sum4(dst, a, b, c, d, count);
            case BFLOAT16 -> VectorBfloat16.sum4(dst, a, b, c, d, count);
            default -> throw new IllegalArgumentException("no vector reduction of type " + type);
        }
    }

    /** A thread's native tile, freed by the collector after the thread has ended. */
    private static final class Tile {
        private final MemorySegment segment = Arena.ofAuto().allocate(TILE_BYTES, 64);
        final long address = segment.address();
    }
}
