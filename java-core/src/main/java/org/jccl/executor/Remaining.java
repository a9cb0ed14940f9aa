package org.jccl.executor;

import org.jccl.plan.OpCode;
import org.jccl.plan.Plan;
import org.jccl.platform.Memory;
import org.jccl.transport.Links;
import org.jccl.transport.RegionLayout;

/**
 * What a plan still asks of a rank. For the slow look at the health of a communicator, once a rank
 * is known to give nothing more; for the owner.
 *
 * @param sequence what the plan's deltas are counted from
 */
record Remaining(Links links, CallWords calls, Plan plan, long sequence) {
    /** The high bits of a product look drawn by lot. */
    private static final int SHIFT = 12;

    /** Whether the code of the running call from {@code from} on needs what is not there yet. */
    boolean needs(int from, int q) {
        int[] c = plan.code();
        for (int at = from; c[at] != OpCode.END; at += OpCode.length(c, at)) {
            boolean needed =
                    switch (c[at]) {
                        case OpCode.WAIT -> c[at + 1] == q && flag(q, c[at + 2]) < c[at + 3];
                        case OpCode.TINY_FOLD -> !calls.hasWordOf(q);
                        case OpCode.TINY_COPY -> c[at + 2] == q && !calls.hasWordOf(q);
                        case OpCode.NET_FLUSH ->
                                !links.region(q).hasLeft() && links.peer(q).dropped();
                        default -> sends(c, at, q) && !links.region(q).hasLeft();
                    };
            if (needed) {
                return true;
            }
        }
        return false;
    }

    /**
     * Waits for one of the ranks that are missing before this rank does the next thing that another
     * one sees, so that none of them waits for that.
     *
     * @param dice a number by which one is chosen
     */
    void awaitAnyFrom(int from, int dice, Blocked blocked) {
        int[] c = plan.code();
        int missing = 0;
        for (int at = from; OpCode.isUnseen(c[at]); at += OpCode.length(c, at)) {
            if (c[at] == OpCode.TINY_FOLD) {
                calls.awaitAnyOf(calls.number(), dice);
                return;
            }
            if (isAwaited(c, at)) {
                missing++;
                if ((dice * missing >>> SHIFT) % missing == 0) {
                    await(c, at, blocked);
                }
            }
        }
    }

    private boolean isAwaited(int[] c, int at) {
        return switch (c[at]) {
            case OpCode.WAIT -> flag(c[at + 1], c[at + 2]) < c[at + 3];
            case OpCode.TINY_COPY -> !calls.hasWordOf(c[at + 2]);
            default -> false;
        };
    }

    private void await(int[] c, int at, Blocked blocked) {
        boolean flag = c[at] == OpCode.WAIT;
        int q = flag ? c[at + 1] : c[at + 2];
        long address = flag ? links.base(q) + RegionLayout.flag(c[at + 2]) : calls.address(q);
        blocked.on(q, address, Memory.getLongAcquire(address));
    }

    /** Relative to the base of the running call. */
    private long flag(int q, int flag) {
        return Memory.getLongAcquire(links.base(q) + RegionLayout.flag(flag)) - sequence;
    }

    /**
     * Whether a call of this number that has not begun can never end if rank {@code q} does nothing
     * more: it has not published the call before, or not this one and the plan asks for it.
     */
    static boolean neverEnds(Links links, CallWords calls, Plan plan, long number, int q) {
        return !calls.reached(q, number - 1)
                || (!calls.reached(q, number) && asks(plan.code(), q, links.region(q).hasLeft()));
    }

    private static boolean asks(int[] c, int q, boolean left) {
        for (int at = 0; c[at] != OpCode.END; at += OpCode.length(c, at)) {
            boolean asked =
                    switch (c[at]) {
                        case OpCode.WAIT -> c[at + 1] == q;
                        case OpCode.TINY_FOLD -> true;
                        case OpCode.TINY_COPY -> c[at + 2] == q;
                        default -> sends(c, at, q) && !left;
                    };
            if (asked) {
                return true;
            }
        }
        return false;
    }

    /** What is sent over TCP to a rank that has left in good order, it does not need. */
    private static boolean sends(int[] c, int at, int q) {
        return switch (c[at]) {
            case OpCode.NET_PUT, OpCode.NET_SIGNAL, OpCode.NET_TINY -> c[at + 1] == q;
            default -> false;
        };
    }
}
