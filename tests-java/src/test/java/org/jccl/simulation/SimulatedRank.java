package org.jccl.simulation;

import org.jccl.schedule.Limits;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** One rank: its clock, what it sees of the others, and what it has published. */
@SuppressWarnings("ArrayRecordComponent") // the records are never compared
final class SimulatedRank {
    /** A signal or call word: the publisher's clock then, and who has not waited for it yet. */
    record Published(int[] clock, Set<Integer> unheard) {}

    /** A tiny message as its reader sees it. */
    record Tiny(int call, long[] terms, int[] clock) {}

    /** A part of a message of a transfer. */
    record Chunk(long messageCells, long[] terms, int[] clock) {}

    final int rank;

    /** Vector clock: the latest time of every rank of which this rank knows. */
    final int[] clock;

    /** This rank's view of every rank's areas, its own included. */
    final @Nullable View[] views;

    /** By owner and flag: the sequence number that has reached this rank. */
    final long[][] flags;

    /** By owner: the latest call number that has reached this rank. */
    final int[] words;

    /** By owner and parity: the tiny message that has reached this rank, and when it was read. */
    final @Nullable Tiny[][] tiny;

    final int[][] tinyReadAt;

    /** By sender: chunks on their way to this rank. */
    final List<ArrayDeque<Chunk>> fifos = new ArrayList<>();

    /** By flag and sequence number: what this rank has signalled. */
    final Map<Long, Published> signals = new HashMap<>();

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

    SimulatedRank(int rank, int nRanks, Limits limits) {
        this.rank = rank;
        clock = new int[nRanks];
        clock[rank] = 1;
        views = new View[nRanks];
        flags = new long[nRanks][limits.flags()];
        words = new int[nRanks];
        tiny = new Tiny[nRanks][2];
        tinyReadAt = new int[nRanks][2];
        for (int r = 0; r < nRanks; r++) {
            fifos.add(new ArrayDeque<>());
        }
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
        return lanes.stream().allMatch(Lane::done);
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
        Set<Integer> unheard = new TreeSet<>();
        Arrays.stream(readers).forEach(unheard::add);
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
