package org.jccl.comm;

import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/** The splits of one communicator: how many there were, and how many are under way. */
final class Splits {
    /** Written under the monitor of this, read at any time (volatile). */
    private volatile int underWay;

    private long begun;

    /** Of the last one that failed; the same. */
    private volatile @Nullable NcclException failure;

    /** Begins one; answers its number, from 1. */
    synchronized long begin() {
        underWay++;
        begun++;
        return begun;
    }

    /** One is over, with a reason if it has failed. */
    synchronized void ended(@Nullable NcclException why) {
        failure = why == null ? failure : why;
        underWay--;
        notifyAll();
    }

    /** Why the last one failed that did, or null. */
    @Nullable NcclException failure() {
        return failure;
    }

    boolean underWay() {
        return underWay > 0;
    }

    /** Waits until none is under way, but not for long. */
    synchronized void await(long limitMs) {
        long end = System.nanoTime() + limitMs * 1_000_000;
        while (underWay > 0 && System.nanoTime() - end < 0) {
            try {
                wait(10);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }
}
