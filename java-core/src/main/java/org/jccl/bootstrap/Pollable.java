package org.jccl.bootstrap;

import org.jccl.platform.Sockets;

/** A descriptor that the thread jccl-net serves; only that thread calls it. */
abstract class Pollable {
    private boolean done;
    private long restsUntilNs = NetAgent.NEVER;

    /** The descriptor to poll. */
    abstract int fd();

    /** The events to poll for. */
    short events() {
        return Sockets.POLLIN;
    }

    /** Something happened to the descriptor. */
    abstract void ready(long nowNs);

    /** The nanoTime at which {@link #expired} is wanted, or {@link NetAgent#NEVER}. */
    long deadlineNs() {
        return NetAgent.NEVER;
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
        restsUntilNs = nowNs + NetAgent.PAUSE_NS;
    }

    final boolean rests() {
        return restsUntilNs != NetAgent.NEVER;
    }

    /** When the agent is to look after it even if nothing happens. */
    final long dueNs() {
        return rests() ? restsUntilNs : deadlineNs();
    }

    /** That time has come: its rest or its deadline is over. */
    final void due(long nowNs) {
        if (rests()) {
            restsUntilNs = NetAgent.NEVER;
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
