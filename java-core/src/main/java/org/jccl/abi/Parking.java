package org.jccl.abi;

import org.jccl.comm.Comm;
import org.jccl.group.Pending;
import org.jccl.platform.Memory;
import org.jccl.type.ErrorKind;
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

    private record Parked(Pending pending, Runnable undo) {}

    /** Offset of the flag in a {@code jcclSlice}, which begins with the milliseconds. */
    private static final int PARKED = 4;

    /** The {@code jcclSlice} of the caller that parks calls on this thread, 0 for none. */
    private long slice;

    /**
     * Innermost first: a signal handler that runs while a call is parked may make calls that are
     * parked and resumed in their turn.
     */
    private final ArrayDeque<Parked> parked = new ArrayDeque<>();

    private Parking() {}

    static Parking current() {
        return CURRENT.get();
    }

    void slice(long address) {
        slice = address;
    }

    /** How many calls of this thread are parked. */
    int depth() {
        return parked.size();
    }

    /** Waits for a call on a communicator, if it blocks; else leaves the call to itself. */
    static NcclResult awaitOrLeave(Comm comm, Pending pending) {
        if (comm.blocking()) {
            return current().await(pending);
        }
        comm.leave();
        return NcclResult.IN_PROGRESS;
    }

    /** Waits for a call, to its end or for the slice that its caller has written. */
    NcclResult await(Pending pending) {
        return await(pending, () -> {});
    }

    /**
     * The same for a call that leaves something to undo.
     *
     * @param undo runs if the call fails
     */
    NcclResult await(Pending pending, Runnable undo) {
        return await(pending, undo, slice == 0 ? 0 : Memory.getInt(slice));
    }

    private NcclResult await(Pending pending, Runnable undo, int ms) {
        long until = ms <= 0 ? 0 : System.nanoTime() + ms * MS;
        if (pending.await(until)) {
            try {
                return pending.result();
            } catch (RuntimeException | Error e) {
                undo.run();
                throw e;
            }
        }
        parked.push(new Parked(pending, undo));
        Memory.putInt(slice + PARKED, 1);
        return NcclResult.IN_PROGRESS;
    }

    /** Goes on with the parked call, to its end or for the slice that its caller has now. */
    NcclResult resume() {
        Parked call = take("jcclResume");
        return await(call.pending, call.undo);
    }

    /** Ends the parked call; its result is that of the interrupted operation. */
    NcclResult interrupt() {
        Parked call = take("jcclInterrupt");
        call.pending.interrupt();
        return await(call.pending, call.undo, 0);
    }

    private Parked take(String function) {
        Parked call = parked.poll();
        if (call == null) {
            throw ErrorKind.NOT_PARKED.says("%s : no call of this thread is parked", function);
        }
        return call;
    }
}
