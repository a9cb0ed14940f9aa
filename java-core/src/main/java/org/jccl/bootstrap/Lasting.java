package org.jccl.bootstrap;

import org.jccl.platform.Sockets;

/**
 * What the loop cannot do without, or nobody could connect: a failure, which may be a shortage,
 * does not end it but lets it rest for a while. Belongs to the thread jccl-net.
 */
abstract class Lasting implements Pollable {
    private long restsUntilNs = NetAgent.NEVER;
    private boolean closed;

    /** It is not polled for a while. */
    final void rest(long nowNs) {
        restsUntilNs = nowNs + NetAgent.PAUSE_NS;
    }

    /** Closes its descriptor, once. */
    protected abstract void release();

    @Override
    public final short events() {
        return restsUntilNs == NetAgent.NEVER ? Sockets.POLLIN : 0;
    }

    @Override
    public final void failed(long nowNs) {
        rest(nowNs);
    }

    /** When its rest ends. */
    @Override
    public long deadlineNs() {
        return restsUntilNs;
    }

    /** Its rest has ended; what came meanwhile is found by the next poll. */
    @Override
    public void expired(long nowNs) {
        restsUntilNs = NetAgent.NEVER;
    }

    @Override
    public final boolean done() {
        return closed;
    }

    @Override
    public final void close() {
        if (!closed) {
            closed = true;
            release();
        }
    }
}
