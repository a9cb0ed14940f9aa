package org.jccl.comm;

import org.jccl.group.Pending;
import org.jccl.log.Log;
import org.jccl.log.Subsystem;
import org.jccl.progress.CommExecutor;
import org.jccl.progress.Wait;
import org.jccl.type.CallError;
import org.jccl.type.NcclResult;

/** Waits until nothing is under way on a communicator. */
record PendingFinalize(Comm comm, Wait waiting) implements Pending {
    /** How long destroy waits for operations whose peers do not come. */
    private static final long SETTLE_NS = 5_000_000_000L;

    /** Waits until nothing is under way; after a while it warns, and gives the operations up. */
    static void settle(Comm comm, CommExecutor executor) {
        if (!Wait.untilIdle(executor).await(System.nanoTime() + SETTLE_NS)) {
            Log.warn(
                    CallError.GIVEN_UP.says(
                            "%s is destroyed while operations are under way, which have not ended"
                                + " within 5 s and are given up; finalize it before, or abort it",
                            comm.identity()));
        }
    }

    @Override
    public boolean await(long untilNs) {
        return waiting.await(untilNs);
    }

    @Override
    public NcclResult result() {
        // The communicator itself tells of no failure any more once somebody has aborted it.
        Refusals.throwIfAny(comm.executor().failure());
        Log.info(Subsystem.DESTROY, comm.identity() + " - Finalize COMPLETE");
        return NcclResult.SUCCESS;
    }

    @Override
    public void interrupt() {
        comm.interrupt();
    }
}
