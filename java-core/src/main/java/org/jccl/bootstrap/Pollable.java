package org.jccl.bootstrap;

import org.jccl.platform.Sockets;

/** A descriptor that the thread jccl-net serves; only that thread calls it. */
abstract class Pollable {
    /** No deadline. */
    static final long NEVER = Long.MAX_VALUE;

    /** The pause after a failure that may last, as when memory or descriptors are exhausted. */
    static final long PAUSE_NS = 50_000_000L;

    private boolean done;
    private long restsUntilNs = NEVER;

    /** The descriptor to poll. */
    abstract int fd();

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
    abstract void release();

    /** Its code failed, maybe for want of memory. */
    void failed(long nowNs) {
        close();
    }

    /** Keeps it from being polled for a while; the next poll finds what comes meanwhile. */
    final void rest(long nowNs) {
        restsUntilNs = nowNs + PAUSE_NS;
    }

    final boolean rests() {
        return restsUntilNs != NEVER;
    }

    /** When the agent is to look after it even if nothing happens. */
    final long dueNs() {
        return rests() ? restsUntilNs : deadlineNs();
    }

    /** That time has come: its rest or its deadline is over. */
    final void due(long nowNs) {
        if (rests()) {
            restsUntilNs = NEVER;
        } else {
            expired(nowNs);
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
