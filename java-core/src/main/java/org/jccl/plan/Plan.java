package org.jccl.plan;

/**
 * A schedule compiled for one rank of one communicator: opcodes with buffer numbers, and byte
 * offsets. Free of addresses, so it serves every call of the same shape.
 *
 * <p>Buffer numbers: 0 the caller's input, 1 its output, then for rank q: {@code 2 + q} its small
 * slot, {@code 2 + n + q} its direct slot, {@code 2 + 2n + q} its ring. In a lane, 2 is the slot of
 * the round.
 *
 * @param partners ranks behind TCP to which the plan gives something or which give it something,
 *     ascending; all of them if the plan has no steps, since its call may consist of sends and
 *     receives
 * @param announce those of them that are told of the call before the plan starts, because the plan
 *     sends them nothing else or has to know that they are in the call
 * @param code opcodes of {@link OpCode} with their operands
 * @param args byte offsets and lengths that the code points to
 * @param sequenceNumbers how far a call moves the sequence base
 * @param usesArea whether ring or direct slots are touched, so that the area has to be mapped
 * @param usesRing whether ring slots are touched, which need a credit of their own
 * @param publishesTiny whether the code writes the call word itself, behind a tiny message
 * @param hearsAll whether the plan waits for every other rank, so that all are known to be in this
 *     call
 * @param hasPeerSteps whether the code has opcodes of transports, or the call is announced
 * @param copiesInput whether the plan reads a copy of the input, since others read it while the
 *     output is written to the same place
 * @param elementBytes size of an element
 * @param inBytes size of the caller's input
 * @param outBytes size of its output
 * @param inPlaceDistance how far the input lies behind the output if they are in place
 * @param mateBytes payload bytes that node mates read from this rank, summed over them, and that it
 *     reads from their callers' buffers
 * @param netBytes payload bytes sent over TCP
 */
@SuppressWarnings("ArrayRecordComponent") // read in the innermost loop, shared by reference
public record Plan(
        int[] partners,
        int[] announce,
        int[] code,
        long[] args,
        int sequenceNumbers,
        boolean usesArea,
        boolean usesRing,
        boolean publishesTiny,
        boolean hearsAll,
        boolean hasPeerSteps,
        boolean copiesInput,
        int elementBytes,
        long inBytes,
        long outBytes,
        long inPlaceDistance,
        long mateBytes,
        long netBytes) {
    /** The caller's input. */
    public static final int IN = 0;

    /** The caller's output. */
    public static final int OUT = 1;

    /** First small slot. */
    public static final int FIRST_AREA = 2;

    /** In the plan of a send or receive, which uses no other area, the slot of the round. */
    public static final int FIFO = 2;

    /** Entries of a table of buffers for {@code nRanks}. */
    public static int bufferCount(int nRanks) {
        return FIRST_AREA + 3 * nRanks;
    }

    /** Size in array elements, for the plan cache's bound. */
    public int weight() {
        return code.length + 2 * args.length;
    }
}
