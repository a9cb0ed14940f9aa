package org.jccl.type;

/**
 * Element types with NCCL's numbers ({@code ncclDataType_t}).
 *
 * <p>{@link #FLOAT8E4M3} has no infinities, and one NaN of each sign beyond its largest number, 448
 * (the E4M3 of the OCP specification); {@link #FLOAT8E5M2} has both, as IEEE 754 makes small
 * formats, and 57344 is its largest number. Reductions widen both to float32, fold that, and round
 * the result once, to nearest even and with saturation: what is larger than the largest number, an
 * infinity included, becomes that number, and a NaN stays a NaN.
 */
public enum DataType {
    INT8(0, 1, "ncclInt8"),
    UINT8(1, 1, "ncclUint8"),
    INT32(2, 4, "ncclInt32"),
    UINT32(3, 4, "ncclUint32"),
    INT64(4, 8, "ncclInt64"),
    UINT64(5, 8, "ncclUint64"),
    FLOAT16(6, 2, "ncclFloat16"),
    FLOAT32(7, 4, "ncclFloat32"),
    FLOAT64(8, 8, "ncclFloat64"),
    BFLOAT16(9, 2, "ncclBfloat16"),
    FLOAT8E4M3(10, 1, "ncclFloat8e4m3"),
    FLOAT8E5M2(11, 1, "ncclFloat8e5m2");

    private static final DataType[] BY_NUMBER = values();

    private final int number;
    private final int sizeBytes;
    private final String ncclName;

    DataType(int number, int sizeBytes, String ncclName) {
        this.number = number;
        this.sizeBytes = sizeBytes;
        this.ncclName = ncclName;
    }

    /** The value of {@code ncclDataType_t}. */
    public int number() {
        return number;
    }

    /** Bytes of one element. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Whether elements are integers. */
    public boolean isInteger() {
        return number <= UINT64.number;
    }

    /** Whether elements are integers without a sign. */
    public boolean isUnsigned() {
        return this == UINT8 || this == UINT32 || this == UINT64;
    }

    /** The name in {@code nccl.h}, which has a shorter one, too, for some types. */
    public String ncclName() {
        return ncclName;
    }

    /** Whether {@code number} is a value of {@code ncclDataType_t}. */
    public static boolean isValid(int number) {
        return number >= 0 && number < BY_NUMBER.length;
    }

    /**
     * The type with this number.
     *
     * @throws ArrayIndexOutOfBoundsException if {@link #isValid} is false
     */
    public static DataType of(int number) {
        return BY_NUMBER[number];
    }
}
