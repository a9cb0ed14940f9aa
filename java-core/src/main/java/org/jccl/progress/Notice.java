package org.jccl.progress;

import org.jccl.platform.SharedMemory;
import org.jccl.platform.Sockets;
import org.jccl.transport.Area;
import org.jccl.transport.Frame;
import org.jccl.transport.Links;
import org.jccl.transport.Peer;
import org.jccl.transport.Region;
import org.jccl.transport.RegionLayout;
import org.jccl.type.NcclException;
import org.jccl.type.NcclResult;

/** What a rank tells all others about itself: that it gives up and why, or that it leaves. */
final class Notice {
    private static final long MS = 1_000_000;

    /** How long a rank that gives up tries to tell the others over TCP. */
    static final long FAREWELL_NS = 200 * MS;

    /** How long a rank that leaves waits for its peers' systems to take its last bytes. */
    private static final long LEAVE_NS = 2000 * MS;

    private Notice() {}

    /**
     * Publishes why this rank gives up to node mates, and begins to tell the others over TCP; for
     * the owner. The callers' buffers may change only afterwards: a mate that has read one of them
     * looks at the status next.
     *
     * @param culprit the rank at fault, -1 for none
     */
    static void giveUp(Links links, NcclException why, int culprit) {
        int named =
                why.result() == NcclResult.REMOTE_ERROR && culprit >= 0 ? culprit : links.rank();
        say(links, why.result().code(), named, String.valueOf(why.getMessage()));
    }

    /** Publishes that this rank leaves in good order, once its last bytes are sent. */
    static void leave(Links links, NcclException goodbye) {
        flush(links, LEAVE_NS);
        say(links, Region.LEFT, links.rank(), String.valueOf(goodbye.getMessage()));
        flush(links, FAREWELL_NS);
    }

    private static void say(Links links, int code, int culprit, String text) {
        links.region(links.rank()).publishStatus(code, culprit, text);
        links.wakeSleepersOn(links.rank());
        long from = links.ownBase() + RegionLayout.STATUS_TEXT;
        int bytes = 4 + RegionLayout.STATUS_TEXT_BYTES;
        Frame status = new Frame().bytes(Area.BASE, RegionLayout.STATUS_TEXT, from, bytes);
        status.flag(RegionLayout.STATUS, links.region(links.rank()).status());
        for (Peer link : links.remote()) {
            link.rescue();
            link.post(status);
        }
    }

    /** Waits until what was said before has been sent, for this long at most. */
    static void flush(Links links, long limitNs) {
        if (!links.anyNet()) {
            return;
        }
        long end = System.nanoTime() + limitNs;
        long most = (long) links.nRanks() * Sockets.POLLFD_BYTES;
        try (SharedMemory polls = SharedMemory.anonymous(most)) {
            while (true) {
                int n = 0;
                for (Peer link : links.remote()) {
                    if (!link.flush()) {
                        long entry = polls.address() + (long) n++ * Sockets.POLLFD_BYTES;
                        Sockets.setPollfd(entry, link.descriptor(), Sockets.POLLOUT);
                    }
                }
                if (n == 0 || System.nanoTime() - end >= 0) {
                    return;
                }
                Sockets.poll(polls.address(), n, 20);
            }
        } catch (NcclException noMemory) {
            // Posting has offered each frame to its socket once.
        }
    }
}
