package org.jccl.type;

import static org.jccl.type.Operation.Parts.EACH;
import static org.jccl.type.Operation.Parts.NONE;
import static org.jccl.type.Operation.Parts.ONE;
import static org.jccl.type.Operation.Ranks.ALL;
import static org.jccl.type.Operation.Ranks.ROOT;

import org.jspecify.annotations.Nullable;

/**
 * The operations, with the numbers of NCCL's {@code ncclFunc_t}, and what each takes and gives.
 *
 * <p>A part is {@code count} elements, as NCCL counts for every operation: each rank sends the
 * count of AllGather, and receives that of ReduceScatter.
 */
public enum Operation {
    BROADCAST(0, "Broadcast", ONE, ROOT, ONE, ALL),
    REDUCE(1, "Reduce", ONE, ALL, ONE, ROOT),
    ALL_GATHER(2, "AllGather", ONE, ALL, EACH, ALL),
    REDUCE_SCATTER(3, "ReduceScatter", EACH, ALL, ONE, ALL),
    ALL_REDUCE(4, "AllReduce", ONE, ALL, ONE, ALL),
    SEND(6, "Send", ONE, ALL, NONE, ALL),
    RECV(7, "Recv", NONE, ALL, ONE, ALL),
    ALL_TO_ALL(8, "AlltoAll", EACH, ALL, EACH, ALL),
    SCATTER(9, "Scatter", EACH, ROOT, ONE, ALL),
    GATHER(10, "Gather", ONE, ALL, EACH, ROOT);

    /** How many parts a buffer holds. */
    public enum Parts {
        /** There is no buffer. */
        NONE,
        /** One part. */
        ONE,
        /** One part for each rank, in the order of ranks. */
        EACH;

        private long of(long part, int nRanks) {
            return switch (this) {
                case NONE -> 0;
                case ONE -> part;
                case EACH -> part * nRanks;
            };
        }
    }

    /** Which ranks have a buffer. */
    enum Ranks {
        /** All of them. */
        ALL,
        /** The root; the others' argument means nothing. */
        ROOT
    }

    /** Numbers go up to this one, exclusive. */
    public static final int NUMBERS = GATHER.number + 1;

    private static final @Nullable Operation[] BY_NUMBER = new @Nullable Operation[NUMBERS];

    static {
        for (Operation operation : values()) {
            BY_NUMBER[operation.number] = operation;
        }
    }

    private final int number;
    private final String ncclName;
    private final Parts in;
    private final Ranks senders;
    private final Parts out;
    private final Ranks receivers;

    Operation(int number, String ncclName, Parts in, Ranks senders, Parts out, Ranks receivers) {
        this.number = number;
        this.ncclName = ncclName;
        this.in = in;
        this.senders = senders;
        this.out = out;
        this.receivers = receivers;
    }

    /** The value of {@code ncclFunc_t}. */
    public int number() {
        return number;
    }

    /** The name without the prefix {@code nccl}. */
    public String ncclName() {
        return ncclName;
    }

    /** The parts of an input. */
    public Parts in() {
        return in;
    }

    /** The parts of an output. */
    public Parts out() {
        return out;
    }

    /**
     * The size of an input, in the unit of {@code part}.
     *
     * @param part the size of a part
     */
    public long inSize(long part, int nRanks) {
        return in.of(part, nRanks);
    }

    /** The size of an output, likewise. */
    public long outSize(long part, int nRanks) {
        return out.of(part, nRanks);
    }

    /** The size of the larger buffer, which is the size of the call as nccl-tests counts it. */
    public long size(long part, int nRanks) {
        return Math.max(inSize(part, nRanks), outSize(part, nRanks));
    }

    /** Whether a rank's input is read. */
    public boolean sends(int rank, int root) {
        return in != NONE && (senders == ALL || rank == root);
    }

    /** Whether a rank's output is written. */
    public boolean receives(int rank, int root) {
        return out != NONE && (receivers == ALL || rank == root);
    }

    /**
     * How far a rank's input lies behind its output where NCCL calls them in place, in the unit of
     * {@code part}: the part that stands for the rank in the larger buffer is the smaller buffer.
     */
    public long inPlaceDistance(long part, int rank) {
        return in == out ? 0 : out == EACH ? rank * part : -rank * part;
    }

    /** Whether the operation combines elements, so that its reduction operation means something. */
    public boolean reduces() {
        return this == REDUCE || this == REDUCE_SCATTER || this == ALL_REDUCE;
    }

    /** Whether one rank is distinguished, so that its root means something. */
    public boolean rooted() {
        return senders == ROOT || receivers == ROOT;
    }

    /** Whether the operation concerns one peer. */
    public boolean pointToPoint() {
        return in == NONE || out == NONE;
    }

    /**
     * Whether each rank has a part for each: such a collective may consist of sends and receives.
     */
    public boolean exchanges() {
        return in == EACH && out == EACH;
    }

    /** The operation with this number, or null if there is none. */
    public static @Nullable Operation of(int number) {
        return number >= 0 && number < NUMBERS ? BY_NUMBER[number] : null;
    }
}
