package org.jccl.reduce;

/**
 * One way to fold. All variants give the same bits, except that a NaN may carry another payload.
 */
interface Fold {
    // NCCL's numbers again, because a switch needs constants; a test compares them with type.
    int INT8 = 0;
    int UINT8 = 1;
    int INT32 = 2;
    int UINT32 = 3;
    int INT64 = 4;
    int UINT64 = 5;
    int FLOAT16 = 6;
    int FLOAT32 = 7;
    int FLOAT64 = 8;
    int BFLOAT16 = 9;
    int FLOAT8E4M3 = 10;
    int FLOAT8E5M2 = 11;

    /** Number of types that can be folded: 0 up to this, exclusive. */
    int TYPES = 12;

    int SUM = 0;
    int PROD = 1;
    int MAX = 2;
    int MIN = 3;
    int AVG = 4;

    /** Number of operations: 0 up to this, exclusive. */
    int OPS = 5;

    /**
     * As {@link Reductions#fold}, for n of at least 2.
     *
     * @param count elements, any number from 0
     */
    void fold(int dataType, int redOp, long dst, long[] sources, int n, long count);

    /** Bytes of one element of a type that can be folded. */
    static int sizeBytes(int dataType) {
        return switch (dataType) {
            case INT8, UINT8, FLOAT8E4M3, FLOAT8E5M2 -> 1;
            case FLOAT16, BFLOAT16 -> 2;
            case INT32, UINT32, FLOAT32 -> 4;
            case INT64, UINT64, FLOAT64 -> 8;
            default -> throw new IllegalArgumentException("no reduction of data type " + dataType);
        };
    }
}
