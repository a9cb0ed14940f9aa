package org.jccl.executor;

import org.jccl.plan.OpCode;
import org.jccl.plan.Plan;
import org.jccl.platform.Memory;
import org.jccl.transport.Links;
import org.jccl.transport.RegionLayout;

/**
 * What a plan still asks of a rank. The owner needs it for the slow look at the health of a
 * communicator, once a rank is known to give nothing more.
 *
 * @param sequence what the plan's deltas are counted from; {@link #NOT_BEGUN} if no rank can have
 *     given anything of it yet
 */
record Remaining(Links links, CallWords calls, Plan plan, long sequence) {
    /** The sequence of a call that has not begun. */
    static final long NOT_BEGUN = -1;

    /** Drops low bits of a number of which only the high ones look random. */
    private static final int SHIFT = 12;

    /** Whether the code needs, from {@code from} on, what rank {@code q} has not given. */
    boolean needs(int from, int q) {
        int[] c = plan.code();
        for (int at = from; c[at] != OpCode.END; at += OpCode.length(c, at)) {
            boolean needed =
                    switch (c[at]) {
                        case OpCode.WAIT -> c[at + 1] == q && lacksFlag(c, at);
                        case OpCode.TINY_FOLD -> lacksWord(q);
                        case OpCode.TINY_COPY -> c[at + 2] == q && lacksWord(q);
                        // What has not been read of a caller's buffer ends with its process.
                        case OpCode.PULL -> c[at + 2] == q;
                        case OpCode.NET_FLUSH ->
                                hasBegun() && !links.region(q).hasLeft() && links.peer(q).dropped();
                        // A rank that has left well needs nothing that is sent to it.
                        case OpCode.NET_PUT, OpCode.NET_SIGNAL, OpCode.NET_TINY ->
                                c[at + 1] == q && !links.region(q).hasLeft();
                        default -> false;
                    };
            if (needed) {
                return true;
            }
        }
        return false;
    }

    /**
     * Waits for one of the ranks that are missing before this rank's next step that others see, so
     * that none of them waits for that step.
     *
     * @param dice a number that chooses the rank
     */
    void awaitAnyFrom(int from, int dice, Blocked blocked) {
        int[] c = plan.code();
        int waits = 0;
        for (int at = from; OpCode.isUnseen(c[at]); at += OpCode.length(c, at)) {
            if (c[at] == OpCode.TINY_FOLD) {
                calls.awaitAnyOf(calls.number(), dice);
                return;
            }
            waits += isWait(c[at]) ? 1 : 0;
        }
        // Begins at any wait and stops at the first that lacks something: to read the words of a
        // thousand ranks would take longer than a sleep.
        int skipped = waits == 0 ? 0 : (dice >>> SHIFT) % waits;
        int at = from;
        for (int left = waits + skipped; left > 0; at = next(c, at, from)) {
            if (isWait(c[at])) {
                if (left <= waits && awaitIfMissing(c, at, blocked)) {
                    return;
                }
                left--;
            }
        }
    }

    private static boolean isWait(int code) {
        return code == OpCode.WAIT || code == OpCode.TINY_COPY;
    }

    /** The step after this one; after the last that others do not see, the first. */
    private static int next(int[] c, int at, int from) {
        int after = at + OpCode.length(c, at);
        return OpCode.isUnseen(c[after]) ? after : from;
    }

    /** Whether a wait lacks something; then it is what the rank is blocked on. */
    private boolean awaitIfMissing(int[] c, int at, Blocked blocked) {
        boolean flag = c[at] == OpCode.WAIT && lacksFlag(c, at);
        if (!flag && !(c[at] == OpCode.TINY_COPY && lacksWord(c[at + 2]))) {
            return false;
        }
        int q = flag ? c[at + 1] : c[at + 2];
        long address = flag ? flag(c, at) : calls.address(q);
        blocked.on(q, address, Memory.getLongAcquire(address));
        return true;
    }

    private boolean hasBegun() {
        return sequence != NOT_BEGUN;
    }

    private boolean lacksFlag(int[] c, int at) {
        return !hasBegun() || Memory.getLongAcquire(flag(c, at)) - sequence < c[at + 3];
    }

    private long flag(int[] c, int at) {
        return links.base(c[at + 1]) + RegionLayout.flag(c[at + 2]);
    }

    private boolean lacksWord(int q) {
        return !hasBegun() || !calls.hasWordOf(q);
    }

    /**
     * Whether a call of this number that has not begun can never end if rank {@code q} does nothing
     * more: it has not published the call before this one, and is a mate or known to be awaited for
     * that; or it has not published this one, and the plan asks something of it.
     */
    boolean neverEnds(long number, int q) {
        long before = number - 1;
        boolean lacksBefore =
                before == calls.number()
                        ? calls.lacks(q, before)
                        : !links.peer(q).isRemote() && !calls.reached(q, before);
        return lacksBefore || (!calls.reached(q, number) && needs(0, q));
    }
}
