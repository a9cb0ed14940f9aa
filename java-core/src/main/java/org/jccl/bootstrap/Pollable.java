package org.jccl.bootstrap;

import org.jccl.log.Log;
import org.jccl.platform.Sockets;

/** A descriptor that the thread jccl-net serves; only that thread calls it. */
abstract class Pollable {
    /** No deadline. */
    static final long NEVER = Long.MAX_VALUE;

    /** The pause after a failure that may last, as when memory or descriptors are exhausted. */
    static final long PAUSE_NS = 50_000_000L;

    /** The descriptor to poll. */
    final int fd;

    private boolean done;
    private long restsUntilNs = NEVER;

    /** Takes ownership of the descriptor. */
    Pollable(int fd) {
        this.fd = fd;
    }

    /** The events to poll for. */
    short events() {
        return Sockets.POLLIN;
    }

    /** Something happened to the descriptor. */
    abstract void ready(long nowNs);

    /** The nanoTime at which {@link #expired} is wanted, or {@link #NEVER}. */
    long deadlineNs() {
        return NEVER;
    }

    /** The deadline has passed. */
    void expired(long nowNs) {}

    /** Closes the descriptor; called once. */
    void release() {
        Sockets.close(fd);
    }

    /** Its code failed, maybe for want of memory. */
    void failed(Throwable why, long nowNs) {
        close();
    }

    /** Keeps it from being polled for a while; the next poll finds what comes meanwhile. */
    final void rest(long nowNs) {
        restsUntilNs = nowNs + PAUSE_NS;
    }

    final boolean rests() {
        return restsUntilNs != NEVER;
    }

    /** When the agent is to serve it even if nothing happens: its rest or its deadline is over. */
    final long dueNs() {
        return rests() ? restsUntilNs : deadlineNs();
    }

    /** Its turn. A failure in its code must not end the others. */
    final void serve(boolean active, long nowNs) {
        if (done) {
            // Another connection's turn closed it; its descriptor may belong to a new one already.
            return;
        }
        try {
            if (active) {
                ready(nowNs);
            }
            long due = dueNs();
            if (done || due == NEVER || nowNs - due < 0) {
                return;
            }
            if (rests()) {
                restsUntilNs = NEVER;
            } else {
                expired(nowNs);
            }
        } catch (RuntimeException | Error failure) {
            // It alone suffers from that.
            failed(failure, nowNs);
            Log.survived("a bootstrap connection failed: ", failure);
        }
    }

    /** Whether the agent is to forget it; its descriptor is closed or given away. */
    final boolean done() {
        return done;
    }

    /** It is served no more. */
    final void leave() {
        done = true;
    }

    /** Closes the descriptor: the agent ends, or this has failed or come to its end. */
    final void close() {
        if (!done) {
            done = true;
            release();
        }
    }
}
