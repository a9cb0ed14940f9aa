package org.jccl.comm;

/** The splits of one communicator: how many there were, and how many are under way. */
final class Splits {
    /** Written under the monitor of this, read at any time (volatile). */
    private volatile int underWay;

    private long begun;

    /** Begins one; answers its number, from 1. */
    synchronized long begin() {
        underWay++;
        begun++;
        return begun;
    }

    synchronized void ended() {
        underWay--;
        notifyAll();
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
