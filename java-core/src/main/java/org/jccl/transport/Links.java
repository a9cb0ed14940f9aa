package org.jccl.transport;

import org.jccl.platform.Futex;
import org.jccl.platform.Membarrier;
import org.jccl.platform.Memory;
import org.jccl.platform.Shared;
import org.jccl.platform.SharedMemory;
import org.jccl.schedule.Limits;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/**
 * The regions of all ranks of one communicator as one of them sees them. Made at init; closed when
 * the communicator is destroyed.
 *
 * <p>Used by the owner of the communicator only.
 */
public final class Links implements AutoCloseable {
    /** By communicator, how many statuses its ranks in this process have published. Any thread. */
    private static final Shared<ByteBuffer, AtomicLong> REPORTS = new Shared<>(_ -> {});

    /** How long a pause is. */
    private static final int STEPS = 8;

    /**
     * C2 makes a shift and a subtraction of it; most other factors it would fold over the steps.
     */
    private static final int FACTOR = 31;

    private static final int LOOKS_AT_ONE = 7;

    private final int rank;
    private final Peer[] peers;
    private final Peer[] remote;
    private final long[] bases;
    private final SharedMemory scratch;
    private final long ringAreaBytes;

    private final ByteBuffer commId;
    private final AtomicLong reports;

    /** See {@link #watched}, and {@link #reports} when it was made. */
    private int[] watched = {};

    private long reportsSeen = -1;
    private final boolean loneOnCores;

    /** What pauses have computed. */
    private long steps;

    /**
     * How many looks without the sockets of ranks that are not awaited come before the next one at
     * all. Waits set it to 0 in any thread: a lost write only delays.
     */
    private int looksAtOne;

    /** Whether something has come from an awaited rank since {@link #progressNet}. */
    private boolean arrived;

    private boolean closed;

    /**
     * Takes ownership of everything, and allocates all memory that waits need, before the ranks
     * confirm to each other that they are connected.
     *
     * @param peers by rank, oneself included
     * @param commId the communicator's number, the same on all ranks, which nobody changes
     * @param limits what their schedules may use
     * @param loneOnCores whether each rank of this node has a core of its own
     * @throws org.jccl.type.NcclException SYSTEM_ERROR if there is no memory; nothing is owned then
     */
    public Links(int rank, Peer[] peers, byte[] commId, Limits limits, boolean loneOnCores) {
        Membarrier.register();
        this.scratch = SharedMemory.anonymous(8L * peers.length + 8);
        this.rank = rank;
        this.peers = peers;
        this.ringAreaBytes = RegionLayout.ringAreaBytes(limits);
        this.remote = Arrays.stream(peers).filter(Peer::isRemote).toArray(Peer[]::new);
        this.loneOnCores = loneOnCores;
        this.bases = Arrays.stream(peers).mapToLong(peer -> peer.region().base()).toArray();
        this.commId = ByteBuffer.wrap(commId);
        this.reports = Objects.requireNonNull(REPORTS.use(this.commId, _ -> new AtomicLong()));
    }

    /** This rank. */
    public int rank() {
        return rank;
    }

    /** Ranks of the communicator. */
    public int nRanks() {
        return peers.length;
    }

    /** Base address of rank {@code q}'s region or mirror. */
    public long base(int q) {
        return bases[q];
    }

    /** Base address of one's own region. */
    public long ownBase() {
        return bases[rank];
    }

    /** Room for a word of 8 bytes and one more for each rank; nobody keeps anything there. */
    public long scratch() {
        return scratch.address();
    }

    /** How much of the ring areas is used. */
    public long ringAreaBytes() {
        return ringAreaBytes;
    }

    /** Rank {@code q}'s region. */
    public Region region(int q) {
        return peers[q].region();
    }

    /** Rank {@code q}. */
    public Peer peer(int q) {
        return peers[q];
    }

    /** Whether each rank of this node has a core of its own, so that polling makes sense. */
    public boolean loneOnCores() {
        return loneOnCores;
    }

    /**
     * Passes some 10 ns between two looks at a word that another core is to store into, if each
     * rank has a core. A look takes the word's cache line away from that core, which has to fetch
     * it back before it can store. {@link Thread#onSpinWait} takes longer, by which a word is seen
     * later (bench/README.md).
     *
     * <p>Each step needs the result of the one before, and the first one that of the last pause:
     * looks do not wait for pauses, but pauses wait for each other, and so keep a processor from
     * looking far ahead.
     */
    public void pause() {
        if (!loneOnCores) {
            return;
        }
        long x = steps;
        for (int i = 0; i < STEPS; i++) {
            x = x * FACTOR + 1;
        }
        steps = x;
    }

    /** The ranks to which bytes have to be sent. */
    public Peer[] remote() {
        return remote;
    }

    /** Whether there are any. */
    public boolean anyNet() {
        return remote.length > 0;
    }

    /** Makes what waits to be sent independent of the callers' buffers. */
    public void rescue() {
        for (Peer peer : remote) {
            peer.rescue();
        }
    }

    /**
     * The ranks that may have given up, left or died: those of other processes, and those of this
     * one that have published a status. Where ranks are threads of one process, hardly any. Not to
     * be changed.
     */
    public int[] watched() {
        long published = reports.get();
        if (published != reportsSeen) {
            watched = IntStream.range(0, peers.length).filter(this::isWatched).toArray();
            reportsSeen = published;
        }
        return watched;
    }

    /** Publishes why this rank ends its work; see {@link Region#publishStatus}. */
    public void publishStatus(int code, int culprit, String text) {
        region(rank).publishStatus(code, culprit, text);
        reports.getAndIncrement();
    }

    private boolean isWatched(int q) {
        return q != rank && (peers[q].endsAlone() || region(q).status() != 0);
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

    /** Wakes everybody, of this process and others, who sleeps on rank {@code q}'s region. */
    public void wakeSleepersOn(int q) {
        wake(bases[q] + RegionLayout.WAITERS);
    }

    /**
     * Sends what waits to be sent to rank {@code q}; for the owner.
     *
     * @return whether its system, or ours, has everything. A rank that has left in good order did
     *     not need what it did not get
     */
    public boolean flushed(int q) {
        Peer peer = peers[q];
        return peer.flush() && (!peer.dropped() || peer.region().hasLeft());
    }

    /** Whether anything waits to be sent. */
    public boolean sending() {
        for (Peer peer : remote) {
            if (peer.sending()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Moves bytes to and from all that are remote, or now and then only: who waits for one of them
     * reads what it sends, and a system call for each of the others takes longer than all else that
     * a look does.
     *
     * @param always whether others than the awaited one are wanted
     * @return whether anything arrived
     */
    public boolean progressNet(boolean always) {
        boolean any = arrived;
        arrived = false;
        if (!always && looksAtOne > 0) {
            looksAtOne--;
            return any;
        }
        looksAtOne = LOOKS_AT_ONE;
        for (Peer peer : remote) {
            peer.flush();
            any |= peer.receive();
        }
        return any;
    }

    /**
     * Reads what an awaited rank has sent.
     *
     * @return whether anything may have arrived: a mate stores without a word
     */
    public boolean receive(int q) {
        boolean any = peers[q].receive();
        arrived |= any && peers[q].isRemote();
        return any;
    }

    /** The next look is at all ranks: before a sleep that what any of them sends ends. */
    public void lookAtAllNext() {
        looksAtOne = 0;
    }

    @Override
    public void close() {
        for (Peer peer : peers) {
            peer.close();
        }
        scratch.close();
        if (!closed) {
            closed = true;
            REPORTS.leave(commId);
        }
    }
}
