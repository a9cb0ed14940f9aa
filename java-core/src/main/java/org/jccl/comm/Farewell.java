package org.jccl.comm;

import org.jccl.log.Log;
import org.jccl.platform.Threads;
import org.jccl.transport.Links;
import org.jccl.transport.Peer;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Closes the links of a communicator that has ended. A socket with unread bytes that is closed
 * resets the connection and may destroy bytes that the peer has not read yet; so this sends the
 * last bytes, shuts the output down and drains the input until the peer has ended, too, or time is
 * up. Shared memory needs none of this: the node mates have mapped all of it.
 */
public final class Farewell implements Job {
    private static final long LIMIT_NS = 10_000_000_000L;

    /** The limit without a thread for it: an abort is to return within a second. */
    private static final long ALONE_NS = 200_000_000L;

    private static final AtomicInteger UNDER_WAY = new AtomicInteger();

    private final Links links;
    private long untilNs = System.nanoTime() + LIMIT_NS;

    private Farewell(Links links) {
        this.links = links;
    }

    /** Takes the links over; the caller waits a moment where no thread can do so. */
    static void linger(Links links) {
        Farewell job = null;
        try {
            job = links.anyNet() ? new Farewell(links) : null;
        } finally {
            if (job == null) {
                links.close();
            }
        }
        if (job == null) {
            return;
        }
        UNDER_WAY.getAndIncrement();
        if (JobAgent.step(job)) {
            return;
        }
        try {
            JobAgent.start(job);
        } catch (RuntimeException | Error e) {
            Log.survived("no connection lingers in the background: ", e);
            job.hurry();
        }
    }

    private void hurry() {
        untilNs = System.nanoTime() + ALONE_NS;
        while (!JobAgent.step(this)) {
            awaitActivity(1);
        }
    }

    /** Waits, for at most {@code maxMs}, until no link lingers. */
    public static void await(int maxMs) {
        long end = System.nanoTime() + maxMs * 1_000_000L;
        for (int round = 0; UNDER_WAY.get() > 0 && System.nanoTime() - end < 0; round++) {
            Threads.pause(round);
        }
    }

    @Override
    public boolean advance() {
        boolean all = true;
        for (Peer peer : links.remote()) {
            all &= peer.part();
        }
        return all || System.nanoTime() - untilNs >= 0;
    }

    @Override
    public void ended(@Nullable NcclException why) {
        try {
            links.close();
        } finally {
            UNDER_WAY.getAndDecrement();
        }
    }
}
