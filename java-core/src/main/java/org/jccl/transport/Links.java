package org.jccl.transport;

import org.jccl.platform.Futex;
import org.jccl.platform.Membarrier;
import org.jccl.platform.Memory;
import org.jccl.platform.ProcessWatch;
import org.jccl.platform.SharedMemory;
import org.jccl.transport.net.NetLink;
import org.jspecify.annotations.Nullable;

/**
 * The regions of all ranks of one communicator as one of them sees them, and its TCP links. Made at
 * init; closed when the communicator is destroyed.
 *
 * <p>Used by the owner of the communicator only.
 */
public final class Links implements AutoCloseable {
    private final int rank;
    private final Region[] regions;
    private final @Nullable NetLink[] nets;
    private final @Nullable ProcessWatch[] watches;
    private final long[] bases;
    private final boolean anyNet;
    private final SharedMemory scratch;

    /**
     * Takes ownership of everything. All memory that waits need is had here, before the ranks
     * confirm to each other that they are connected.
     *
     * @param regions by rank, one's own included
     * @param nets by rank, null for node mates and oneself
     * @param watches by rank, null where death is noticed otherwise
     * @throws org.jccl.type.NcclException SYSTEM_ERROR if there is no memory; nothing is owned then
     */
    public Links(
            int rank,
            Region[] regions,
            @Nullable NetLink[] nets,
            @Nullable ProcessWatch[] watches) {
        Membarrier.register();
        this.scratch = SharedMemory.anonymous(8L * regions.length + 8);
        this.rank = rank;
        this.regions = regions;
        this.nets = nets;
        this.watches = watches;
        this.bases = new long[regions.length];
        boolean any = false;
        for (int q = 0; q < regions.length; q++) {
            bases[q] = regions[q].base();
            any |= nets[q] != null;
        }
        this.anyNet = any;
    }

    /** This rank. */
    public int rank() {
        return rank;
    }

    /** Ranks of the communicator. */
    public int nRanks() {
        return regions.length;
    }

    /** Base address of rank {@code q}'s region or mirror. */
    public long base(int q) {
        return bases[q];
    }

    /** Base address of one's own region. */
    public long ownBase() {
        return bases[rank];
    }

    /** Room for a word of 8 bytes and one more for each rank; nothing of it is kept here. */
    public long scratch() {
        return scratch.address();
    }

    /** Rank {@code q}'s region. */
    public Region region(int q) {
        return regions[q];
    }

    /** The link to rank {@code q}, or null if it is a node mate or oneself. */
    public @Nullable NetLink net(int q) {
        return nets[q];
    }

    /** Whether any rank is reached over TCP. */
    public boolean anyNet() {
        return anyNet;
    }

    /** Makes what waits to be sent independent of the callers' buffers. */
    public void rescue() {
        for (NetLink link : nets) {
            if (link != null) {
                link.rescue();
            }
        }
    }

    /** Whether rank {@code q}'s process on this node has ended. */
    public boolean processEnded(int q) {
        ProcessWatch watch = watches[q];
        return watch != null && watch.ended();
    }

    /**
     * Wakes whoever sleeps until this rank's region changes. The load stays behind the caller's
     * last store in program order (opaque); the sleeper's barrier does the rest.
     */
    public void wakeSleepers() {
        long at = bases[rank] + RegionLayout.WAITERS;
        if (Memory.getIntOpaque(at) != 0) {
            wake(at);
        }
    }

    private static void wake(long at) {
        Memory.getAndSetInt(at, 0);
        Futex.wake(at, Integer.MAX_VALUE);
    }

    /** Wakes everybody of this process and others who sleeps on rank {@code q}'s region. */
    public void wakeSleepersOn(int q) {
        wake(bases[q] + RegionLayout.WAITERS);
    }

    /**
     * Sends what waits to be sent to rank {@code q}; for the owner.
     *
     * @return whether its system, or ours, has everything. What a rank that has left in good order
     *     did not get, it did not need
     */
    public boolean flushed(int q) {
        NetLink link = nets[q];
        return link == null || (link.flush() && (!link.dropped() || regions[q].hasLeft()));
    }

    /** Whether something that was sent to rank {@code q} over TCP will never reach its system. */
    public boolean dropped(int q) {
        NetLink link = nets[q];
        return link != null && link.dropped();
    }

    /** Whether anything waits to be sent. */
    public boolean sending() {
        boolean any = false;
        for (NetLink link : nets) {
            any |= link != null && link.sending();
        }
        return any;
    }

    /**
     * Moves bytes on all TCP links.
     *
     * @return whether anything arrived
     */
    public boolean progressNet() {
        boolean arrived = false;
        for (NetLink link : nets) {
            if (link != null) {
                link.flush();
                arrived |= link.receive();
            }
        }
        return arrived;
    }

    @Override
    public void close() {
        for (int q = 0; q < regions.length; q++) {
            NetLink link = nets[q];
            if (link != null) {
                link.close();
            }
            ProcessWatch watch = watches[q];
            if (watch != null) {
                watch.close();
            }
            regions[q].close();
        }
        scratch.close();
    }
}
