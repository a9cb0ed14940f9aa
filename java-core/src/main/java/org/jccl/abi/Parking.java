package org.jccl.abi;

import org.jccl.group.Pending;
import org.jccl.platform.Memory;
import org.jccl.type.CallError;
import org.jccl.type.NcclResult;

import java.util.ArrayDeque;

/**
 * How the current thread waits: to the end, or in slices between which the caller can do something
 * else, such as look for signals. A slice is for one call: its caller writes it into its {@code
 * jcclSlice} and takes it out again. Calls that others make on the same thread, through another
 * library perhaps, wait to their end.
 */
final class Parking {
    private static final long MS = 1_000_000;
    private static final ThreadLocal<Parking> CURRENT = ThreadLocal.withInitial(Parking::new);

    /** Offset of the flag in a {@code jcclSlice}, which begins with the milliseconds. */
    private static final int PARKED = 4;

    /** The {@code jcclSlice} of the caller that parks calls on this thread, 0 for none. */
    private long slice;

    /**
     * Innermost first: a signal handler that runs while a call is parked may make calls that are
     * parked and resumed in their turn.
     */
    private final ArrayDeque<Pending> parked = new ArrayDeque<>();

    private Parking() {}

    static Parking current() {
        return CURRENT.get();
    }

    void slice(long address) {
        slice = address;
    }

    /** Waits for the call, to its end or for the slice that its caller has written. */
    NcclResult await(Pending pending) {
        return await(pending, slice == 0 ? 0 : Memory.getInt(slice));
    }

    private NcclResult await(Pending pending, int ms) {
        long until = ms <= 0 ? 0 : System.nanoTime() + ms * MS;
        if (pending.await(until)) {
            return pending.result();
        }
        parked.push(pending);
        Memory.putInt(slice + PARKED, 1);
        return NcclResult.IN_PROGRESS;
    }

    /** Goes on with the parked call, to its end or for the slice that its caller has now. */
    NcclResult resume() {
        return await(take("jcclResume"));
    }

    /** Ends the parked call; its result is that of the interrupted operation. */
    NcclResult interrupt() {
        Pending pending = take("jcclInterrupt");
        pending.interrupt();
        return await(pending, 0);
    }

    private Pending take(String function) {
        Pending pending = parked.poll();
        if (pending == null) {
            throw CallError.NOT_PARKED.says("%s : no call of this thread is parked", function);
        }
        return pending;
    }
}
