package org.jccl.type;

/** Reduction operations with NCCL's numbers ({@code ncclRedOp_t}). */
public enum RedOp implements Reduction {
    SUM(0, "ncclSum"),
    PROD(1, "ncclProd"),
    MAX(2, "ncclMax"),
    MIN(3, "ncclMin"),
    AVG(4, "ncclAvg");

    private static final RedOp[] BY_NUMBER = values();

    /** Numbers of predefined operations are below this one, numbers of created ones are not. */
    public static final int NUMBERS = BY_NUMBER.length;

    private final int number;
    private final String ncclName;

    RedOp(int number, String ncclName) {
        this.number = number;
        this.ncclName = ncclName;
    }

    @Override
    public int number() {
        return number;
    }

    /** The name in {@code nccl.h}. */
    public String ncclName() {
        return ncclName;
    }

    /** Whether {@code number} is one of the predefined operations. */
    public static boolean isValid(int number) {
        return number >= 0 && number < BY_NUMBER.length;
    }

    /**
     * The operation with this number.
     *
     * @throws ArrayIndexOutOfBoundsException if {@link #isValid} is false
     */
    public static RedOp of(int number) {
        return BY_NUMBER[number];
    }
}
