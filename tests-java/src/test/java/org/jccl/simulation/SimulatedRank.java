package org.jccl.simulation;

import org.jccl.collective.SendRecv;
import org.jccl.schedule.Limits;
import org.jccl.transport.RegionLayout;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One rank: its clock, what it sees of the others, and what it has published. */
@SuppressWarnings("ArrayRecordComponent") // the records are never compared
final class SimulatedRank {
    /** A signal or call word: the publisher's clock then, and who has not waited for it yet. */
    record Published(int[] clock, BitSet unheard) {}

    /** A tiny message as its reader sees it. */
    record Tiny(int call, long[] terms, int[] clock) {}

    final int rank;

    /** Vector clock: the latest time of every rank of which this rank knows. */
    final int[] clock;

    /** This rank's view of every rank's areas, its own included. */
    final @Nullable View[] views;

    /** By sender and receiver: the same of the slots between them. */
    final Map<List<Integer>, View> slots = new HashMap<>();

    /** By owner and flag: the sequence number that has reached this rank. */
    final long[][] flags;

    /** By owner and line: the latest call number that has reached this rank. */
    final int[][] words;

    /** By owner and parity: the tiny message that has reached this rank, and when it was read. */
    final @Nullable Tiny[][] tiny;

    final int[][] tinyReadAt;

    /** By side and peer: transfers in their order, those that are over, and their chunks. */
    final int[][] queued;

    final int[][] over;
    final long[][] passed;

    /** By flag and sequence number: what this rank has signalled. */
    final Map<Long, Published> signals = new HashMap<>();

    /** By call number: the ranks to which the call gives something, or which give it something. */
    final Map<Integer, BitSet> partners = new HashMap<>();

    /** By call number: this rank's clock when it published the call. */
    final Map<Integer, int[]> publishedWords = new HashMap<>();

    /** Lanes of the stage that this rank is in. */
    final List<Lane> lanes = new ArrayList<>();

    private int nextLane;

    /** The next stage to begin. */
    int stage;

    /** Collective calls begun. */
    int collectives;

    /** Number of the last collective call that used the ring, 0 for none. */
    int lastRingCall;

    /** Sum of the sequence numbers of the finished calls. */
    long base;

    SimulatedRank(int rank, int nRanks) {
        this.rank = rank;
        clock = new int[nRanks];
        clock[rank] = 1;
        views = new View[nRanks];
        flags = new long[nRanks][flag(0, nRanks)];
        words = new int[nRanks][RegionLayout.WORD_LINES];
        tiny = new Tiny[nRanks][2];
        tinyReadAt = new int[nRanks][2];
        queued = new int[2][nRanks];
        over = new int[2][nRanks];
        passed = new long[2][nRanks];
    }

    /** The number of a flag of transfers, which concerns one reader; they follow the others. */
    static int flag(int ofPair, int reader) {
        return RegionLayout.FLAG_COUNT + 2 * reader + ofPair;
    }

    /**
     * What this rank has signalled and nobody has waited for. The credits for as many chunks as
     * there are slots are left when all is over.
     */
    List<String> inVain(Limits limits) {
        List<String> all = new ArrayList<>();
        signals.forEach(
                (key, published) -> {
                    int pair = (int) (key >> 48) - RegionLayout.FLAG_COUNT;
                    long number = key & (1L << 48) - 1;
                    long needed =
                            pair >= 0 && pair % 2 == 1
                                    ? passed[SendRecv.RECEIVER][pair / 2] - limits.chunkSlots()
                                    : number;
                    if (number <= needed && !published.unheard().isEmpty()) {
                        all.add(number + " to " + published.unheard());
                    }
                });
        return all;
    }

    /** One more step of the next lane that can do one; false if none can. */
    boolean advance() {
        for (int i = 0; i < lanes.size(); i++) {
            Lane lane = lanes.get((nextLane + i) % lanes.size());
            if (!lane.done() && lane.advance()) {
                nextLane++;
                return true;
            }
        }
        return false;
    }

    boolean betweenStages() {
        // Asked at every turn of a rank that cannot move, so without a stream.
        for (Lane lane : lanes) {
            if (!lane.done()) {
                return false;
            }
        }
        return true;
    }

    void tick() {
        clock[rank]++;
    }

    /** Learns what somebody knew when it published. */
    void join(int[] other) {
        for (int r = 0; r < clock.length; r++) {
            clock[r] = Math.max(clock[r], other[r]);
        }
    }

    /** Publishes the present clock under this flag and sequence number. */
    Published signal(int flag, long sequence, int[] readers) {
        BitSet unheard = new BitSet();
        Arrays.stream(readers).forEach(unheard::set);
        Published published = new Published(clock.clone(), unheard);
        signals.put(key(flag, sequence), published);
        return published;
    }

    /** The signal with exactly this number, or null. */
    @Nullable Published signalled(int flag, long sequence) {
        return signals.get(key(flag, sequence));
    }

    private static long key(int flag, long sequence) {
        return (long) flag << 48 | sequence;
    }
}
