package org.jccl.type;

/** Operations with the numbers of NCCL's {@code ncclFunc_t}. */
public enum Operation {
    BROADCAST(0, "Broadcast"),
    REDUCE(1, "Reduce"),
    ALL_GATHER(2, "AllGather"),
    REDUCE_SCATTER(3, "ReduceScatter"),
    ALL_REDUCE(4, "AllReduce"),
    SEND(6, "Send"),
    RECV(7, "Recv"),
    ALL_TO_ALL(8, "AlltoAll"),
    SCATTER(9, "Scatter"),
    GATHER(10, "Gather");

    private final int number;
    private final String ncclName;

    Operation(int number, String ncclName) {
        this.number = number;
        this.ncclName = ncclName;
    }

    /** The value of {@code ncclFunc_t}. */
    public int number() {
        return number;
    }

    /** The name without the prefix {@code nccl}. */
    public String ncclName() {
        return ncclName;
    }

    /** Whether the operation combines elements, so that its reduction operation means something. */
    public boolean reduces() {
        return this == REDUCE || this == REDUCE_SCATTER || this == ALL_REDUCE;
    }

    /** Whether one rank is distinguished, so that its root means something. */
    public boolean rooted() {
        return this == BROADCAST || this == REDUCE || this == SCATTER || this == GATHER;
    }

    /** Whether the operation concerns one peer. */
    public boolean pointToPoint() {
        return this == SEND || this == RECV;
    }

    /** Whether the operation is a collective that consists of sends and receives. */
    public boolean exchanges() {
        return this == ALL_TO_ALL || this == SCATTER || this == GATHER;
    }

    /** The operation with this number, or null if there is none. */
    @org.jspecify.annotations.Nullable
    public static Operation of(int number) {
        return switch (number) {
            case 0 -> BROADCAST;
            case 1 -> REDUCE;
            case 2 -> ALL_GATHER;
            case 3 -> REDUCE_SCATTER;
            case 4 -> ALL_REDUCE;
            case 6 -> SEND;
            case 7 -> RECV;
            case 8 -> ALL_TO_ALL;
            case 9 -> SCATTER;
            case 10 -> GATHER;
            default -> null;
        };
    }
}
