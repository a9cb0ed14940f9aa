package org.jccl.plan;

/**
 * Opcodes of a {@link Plan}. Operands are ints after the opcode; {@code @x} is an index of args.
 */
public final class OpCode {
    /** The plan is complete. */
    public static final int END = 0;

    /** COPY dst src @(dstOffset, srcOffset, length). */
    public static final int COPY = 1;

    /** SIGNAL flag delta: store one's own flag, wake sleepers. */
    public static final int SIGNAL = 2;

    /** WAIT rank flag delta. */
    public static final int WAIT = 3;

    /** FOLD dst @(dstOffset, length) n, then n times: src @(srcOffset). */
    public static final int FOLD = 4;

    /** TINY_PUT src @(srcOffset, length): write one's own message. */
    public static final int TINY_PUT = 5;

    /** TINY_FOLD dst own @(dstOffset, length, ownOffset): wait for all, fold their messages. */
    public static final int TINY_FOLD = 6;

    /** TINY_COPY dst rank @(dstOffset, length, from, messageLength). */
    public static final int TINY_COPY = 7;

    /** NET_PUT peer src dst flag delta @(dstOffset, srcOffset, length); flag -1 for none. */
    public static final int NET_PUT = 8;

    /** NET_SIGNAL peer flag delta. */
    public static final int NET_SIGNAL = 9;

    /** NET_TINY peer @(length): send one's own message. */
    public static final int NET_TINY = 10;

    /** NET_FLUSH: send until nothing waits to be sent. */
    public static final int NET_FLUSH = 11;

    /** FOLD_PART, with the operands of FOLD: the same, but AVG only sums up. */
    public static final int FOLD_PART = 12;

    /** DIVIDE dst @(dstOffset, length): by the number of ranks, if the operation is AVG. */
    public static final int DIVIDE = 13;

    /** PULL dst rank @(dstOffset, srcOffset, length): copies from the rank's caller's input. */
    public static final int PULL = 14;

    /** ROUND @(chunk): begin a round of a loop. This and what follows here runs in lanes only. */
    public static final int ROUND = 15;

    /** LOOP start @(chunk): end the round; go on at start, a ROUND, while bytes are left. */
    public static final int LOOP = 16;

    /** HEADER dst: write the header of the round's chunk. */
    public static final int HEADER = 17;

    /** MATCH src: compare the header of the first chunk with the own operation. */
    public static final int MATCH = 18;

    private OpCode() {}

    /** Whether no other rank sees what this opcode does, before a later one tells it. */
    public static boolean isUnseen(int opcode) {
        return switch (opcode) {
            case COPY, PULL, WAIT, FOLD, FOLD_PART, DIVIDE, TINY_FOLD, TINY_COPY -> true;
            default -> false;
        };
    }

    /** How many ints the opcode at this index takes with its operands. */
    public static int length(int[] code, int at) {
        return switch (code[at]) {
            case COPY, PULL, WAIT, TINY_FOLD, TINY_COPY, NET_SIGNAL -> 4;
            case SIGNAL, TINY_PUT, NET_TINY, DIVIDE, LOOP -> 3;
            case ROUND, HEADER, MATCH -> 2;
            case FOLD, FOLD_PART -> 4 + 2 * code[at + 3];
            case NET_PUT -> 7;
            default -> 1;
        };
    }
}
