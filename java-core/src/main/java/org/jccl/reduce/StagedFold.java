package org.jccl.reduce;

/**
 * Tile by tile: copy to the heap, fold in loops over arrays, copy back. C2 vectorises such loops
 * but not those over native memory, whose addresses may alias. Warm after a few calls, at about
 * half of the vector variant's speed.
 */
final class StagedFold implements Fold {
    /** Bytes of one heap tile; a thread keeps two to four for each type that it has folded. */
    static final int TILE_BYTES = 4096;

    /** Up to this many elements a plain loop is faster than the copies. */
    private static final int SCALAR_COUNT = 16;

    @Override
    public void fold(int dataType, int redOp, long dst, long[] sources, int n, long count) {
        if (count <= SCALAR_COUNT) {
            ScalarFold.run(dataType, redOp, dst, sources, n, count);
        } else {
            foldTiles(dataType, redOp, dst, sources, n, count);
        }
    }

    private static void foldTiles(
            int dataType, int redOp, long dst, long[] sources, int n, long count) {
        switch (dataType) {
            case INT8 -> StagedInt8.fold(redOp, false, dst, sources, n, count);
            case UINT8 -> StagedInt8.fold(redOp, true, dst, sources, n, count);
            case INT32 -> StagedInt32.fold(redOp, false, dst, sources, n, count);
            case UINT32 -> StagedInt32.fold(redOp, true, dst, sources, n, count);
            case INT64 -> StagedInt64.fold(redOp, false, dst, sources, n, count);
            case UINT64 -> StagedInt64.fold(redOp, true, dst, sources, n, count);
            case FLOAT16 -> StagedFloat16.fold(redOp, dst, sources, n, count);
            case FLOAT32 -> StagedFloat32.fold(redOp, dst, sources, n, count);
            case FLOAT64 -> StagedFloat64.fold(redOp, dst, sources, n, count);
            case BFLOAT16 -> StagedBfloat16.fold(redOp, dst, sources, n, count);
            case FLOAT8E4M3 -> StagedFloat8.fold(Float8.E4M3, redOp, dst, sources, n, count);
            case FLOAT8E5M2 -> StagedFloat8.fold(Float8.E5M2, redOp, dst, sources, n, count);
            default -> throw new IllegalArgumentException("no reduction of data type " + dataType);
        }
    }
}
