package org.jccl.progress;

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
    static final long LEAVE_NS = 2000 * MS;

    private Notice() {}

    /**
     * Tells node mates why this rank gives up; for the owner. The callers' buffers may change only
     * afterwards: a mate that has read one of them looks at the status next.
     *
     * @param culprit the rank at fault, -1 for none
     */
    static void giveUp(Links links, NcclException why, int culprit) {
        int named =
                why.result() == NcclResult.REMOTE_ERROR && culprit >= 0 ? culprit : links.rank();
        publish(links, why.result().code(), named, why);
    }

    /** Tells node mates that this rank leaves in good order, before buffers may change. */
    static void leave(Links links, NcclException goodbye) {
        publish(links, Region.LEFT, links.rank(), goodbye);
    }

    private static void publish(Links links, int code, int culprit, NcclException why) {
        String text = String.valueOf(why.getMessage());
        links.publishStatus(code, culprit, text);
        links.wakeSleepersOn(links.rank());
    }

    /** Tells the ranks on other nodes what was published, in place of what waits to be sent. */
    static void send(Links links) {
        long from = links.ownBase() + RegionLayout.STATUS_TEXT;
        int bytes = 4 + RegionLayout.STATUS_TEXT_BYTES;
        Frame status = new Frame().bytes(Area.BASE, RegionLayout.STATUS_TEXT, from, bytes);
        status.flag(RegionLayout.STATUS, links.region(links.rank()).status());
        for (Peer link : links.remote()) {
            link.rescue();
            link.post(status);
        }
        flush(links, FAREWELL_NS);
    }

    /**
     * Waits until what was said before has been sent, for this long at most. Threads that sleep may
     * fill the same entries for their own polls: then this one looks again too early, or after 20
     * ms. A virtual thread keeps its carrier meanwhile: if it parked while it owns the
     * communicator, it might not be mounted again as long as others compute, and nobody could take
     * its place.
     */
    static void flush(Links links, long limitNs) {
        long end = System.nanoTime() + limitNs;
        long pollfds = links.scratch() + 8;
        while (true) {
            int n = 0;
            for (Peer link : links.remote()) {
                if (!link.flush()) {
                    Sockets.setPollfd(pollfds, n++, link.descriptor(), Sockets.POLLOUT);
                }
            }
            if (n == 0 || System.nanoTime() - end >= 0) {
                return;
            }
            Sockets.poll(pollfds, n, 20);
        }
    }
}
