package org.jccl.abi;

import org.jccl.group.Call;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;

import java.util.ArrayDeque;

/**
 * The current thread's way of waiting: until the end, or in slices between which the caller can do
 * something else, such as look for signals.
 */
final class Parking {
    private static final long MS = 1_000_000;
    private static final ThreadLocal<Parking> CURRENT = ThreadLocal.withInitial(Parking::new);

    private int sliceMs;

    /**
     * Innermost first: a signal handler that runs while a call is parked may make calls that are
     * parked and resumed in their turn.
     */
    private final ArrayDeque<Call> parked = new ArrayDeque<>();

    private Parking() {}

    static Parking current() {
        return CURRENT.get();
    }

    void sliceMs(int ms) {
        sliceMs = Math.max(0, ms);
    }

    /** Waits for the call as this thread waits; IN_PROGRESS means that it is parked. */
    int await(Call call) {
        return await(call, sliceMs);
    }

    private int await(Call call, int ms) {
        long until = ms == 0 ? 0 : System.nanoTime() + ms * MS;
        if (call.await(until)) {
            return call.result().code();
        }
        parked.push(call);
        return NcclResult.IN_PROGRESS.code();
    }

    /** A negative time only asks: IN_PROGRESS if a call is parked. */
    int resume(int ms) {
        if (ms < 0) {
            return (parked.isEmpty() ? NcclResult.SUCCESS : NcclResult.IN_PROGRESS).code();
        }
        return await(take("jcclResume"), Math.max(1, ms));
    }

    /** Ends the parked call; its result is that of the interrupted operation. */
    int interrupt() {
        Call call = take("jcclInterrupt");
        call.interrupt();
        return await(call, 0);
    }

    private Call take(String function) {
        Call call = parked.poll();
        if (call == null) {
            throw NcclException.invalidUsage(function + " : no call of this thread is parked");
        }
        return call;
    }
}
