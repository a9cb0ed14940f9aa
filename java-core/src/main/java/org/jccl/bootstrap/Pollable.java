package org.jccl.bootstrap;

/** A connection that the thread jccl-net serves; only that thread calls it. */
interface Pollable {
    /** The descriptor to poll. */
    int fd();

    /** The events to poll for, 0 to leave it out for now. */
    short events();

    /** Something happened to the descriptor. */
    void ready(long nowNs);

    /** The nanoTime at which {@link #expired} is wanted, or {@link NetAgent#NEVER}. */
    long deadlineNs();

    /** The deadline has passed. */
    void expired(long nowNs);

    /** Whether the agent is to forget it; it has closed its descriptor or given it away. */
    boolean done();

    /** Its code failed, maybe for want of memory. */
    default void failed(long nowNs) {
        close();
    }

    /** The agent ends, or it has failed: close the descriptor. */
    void close();
}
