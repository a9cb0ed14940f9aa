package org.jccl;

import org.jccl.group.Pending;
import org.jccl.type.NcclException;

/** Waits in slices, to see an interrupt of the thread. */
final class Slices {
    /** Each slice is twice as long as the one before, since thousands of threads may wait. */
    private static final long SLICE_NS = 20_000_000;

    private static final long LONGEST_SLICE_NS = 320_000_000;

    private Slices() {}

    /**
     * Waits to the end. An interrupt ends it for all ranks, and the thread stays interrupted.
     *
     * @throws NcclException how it has failed
     */
    static void await(Pending pending) {
        boolean interrupted = false;
        long sliceNs = SLICE_NS;
        while (!pending.await(System.nanoTime() + sliceNs)) {
            sliceNs = Math.min(LONGEST_SLICE_NS, 2 * sliceNs);
            if (Thread.interrupted()) {
                interrupted = true;
                pending.interrupt();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        pending.result();
    }
}
