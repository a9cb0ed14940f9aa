package org.jccl.executor;

import org.jccl.plan.Plan;
import org.jccl.transport.Area;
import org.jccl.transport.Links;
import org.jccl.transport.RegionLayout;

/**
 * The addresses that the buffer numbers of a plan stand for: one table for each parity of calls.
 * The places of the caller's own buffers are left to the interpreter.
 *
 * <p>Used by the owner of the communicator only, so its fields are plain.
 */
final class BufferTable {
    private final Links links;

    /** By parity. */
    final long[][] tables;

    private boolean areasReady;

    BufferTable(Links links) {
        this.links = links;
        int nRanks = links.nRanks();
        this.tables = new long[2][Plan.bufferCount(nRanks)];
        for (int p = 0; p < 2; p++) {
            for (int q = 0; q < nRanks; q++) {
                long ring = links.region(q).address(Area.RING);
                tables[p][Plan.FIRST_AREA + q] = links.base(q) + RegionLayout.small(nRanks, p);
                tables[p][Plan.FIRST_AREA + nRanks + q] = ring + RegionLayout.direct(p);
                tables[p][Plan.FIRST_AREA + 2 * nRanks + q] = ring + RegionLayout.RING;
            }
        }
    }

    /**
     * Makes the ring areas of all ranks usable, on first need.
     *
     * @return a rank whose area is not there yet, -1 if all are
     * @throws org.jccl.type.NcclException if there is no memory for this rank's own
     */
    int mapAreas() {
        if (areasReady) {
            return -1;
        }
        links.region(links.rank()).mapRing(links.ringAreaBytes());
        links.wakeSleepers();
        for (int q = 0; q < links.nRanks(); q++) {
            if (!links.region(q).mapRing(links.ringAreaBytes())) {
                return q;
            }
        }
        areasReady = true;
        return -1;
    }
}
