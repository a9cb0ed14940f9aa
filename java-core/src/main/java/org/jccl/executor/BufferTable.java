package org.jccl.executor;

import org.jccl.plan.Plan;
import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jccl.transport.RegionLayout;
import org.jccl.type.NcclException;

/**
 * The addresses that the buffer numbers of a plan stand for: one table for each parity of calls.
 * The places of the caller's own buffers are left to the interpreter.
 *
 * <p>Used by the owner of the communicator only, so its fields are plain.
 */
final class BufferTable {
    private final Links links;
    private final CallWords calls;

    /** By parity. */
    final long[][] tables;

    private boolean areasReady;

    BufferTable(Links links, CallWords calls) {
        this.links = links;
        this.calls = calls;
        int nRanks = links.nRanks();
        this.tables = new long[2][Plan.bufferCount(nRanks)];
        for (int p = 0; p < 2; p++) {
            for (int q = 0; q < nRanks; q++) {
                tables[p][Plan.FIRST_AREA + q] = links.base(q) + RegionLayout.small(nRanks, p);
            }
        }
    }

    /**
     * Maps the ring areas of all ranks, on first need.
     *
     * @return a rank whose area is not there yet, -1 if all are
     * @throws NcclException if one cannot be mapped
     */
    int mapAreas() {
        if (areasReady) {
            return -1;
        }
        links.region(links.rank()).mapRing();
        links.wakeSleepers();
        int nRanks = links.nRanks();
        for (int q = 0; q < nRanks; q++) {
            if (!mapRing(q)) {
                return q;
            }
            long area = links.region(q).address(Area.RING);
            for (int p = 0; p < 2; p++) {
                tables[p][Plan.FIRST_AREA + nRanks + q] = area + RegionLayout.direct(p);
                tables[p][Plan.FIRST_AREA + 2 * nRanks + q] = area + RegionLayout.RING;
            }
        }
        areasReady = true;
        return -1;
    }

    /** Maps a ring area. A rank that gives up takes its area away; then its reason matters. */
    private boolean mapRing(int q) {
        try {
            return links.region(q).mapRing();
        } catch (NcclException e) {
            calls.checkPeers();
            if (links.region(q).status() != 0) {
                return false;
            }
            throw e;
        }
    }
}
