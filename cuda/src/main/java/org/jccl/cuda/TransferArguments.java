package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.Operation;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * What a kernel of {@code transfers.cu} is told, as its struct {@code Transfers} has it. Used for
 * one group of sends and receives after the other, by one thread at a time.
 */
final class TransferArguments {
    /** How many messages of a channel one kernel moves. */
    private static final int MESSAGES = 14;

    private static final int LANES = 512;
    private static final int OWN_LANES = 32;
    private static final int CHUNK_DATA_BYTES = 16 * 120;
    private static final int WARPS_OF_BLOCK = 16;
    private static final int THREADS_OF_WARP = 32;
    private static final int SMALL_BLOCK_WARPS = 4;

    private static final int STOP = 64;
    private static final int STARTED = 72;
    private static final int DONE = 80;
    private static final int USE = 88;
    private static final int RANK = 96;
    private static final int LANES_AT = 100;
    private static final int OWN_LANES_AT = 104;
    private static final int CHANNELS = 108;
    private static final int WARPS = 112;
    private static final int CHANNEL = 120;
    private static final int CHANNEL_BYTES = 20;
    private static final int MOST_CHANNELS = 2 * LaunchArguments.MOST_RANKS;
    private static final int TRANSFER = CHANNEL + MOST_CHANNELS * CHANNEL_BYTES;
    private static final int TRANSFER_BYTES = 16;
    private static final int SIZE = TRANSFER + MESSAGES * MOST_CHANNELS * TRANSFER_BYTES;

    private final MemorySegment struct;
    private final Launch launch;

    /** Of a channel to another rank, and of that to itself. */
    private final int lanes;

    private final int ownLanes;
    private final int rank;

    private final int mostBlocks;

    /** By peer, sends, then receives; those that are empty, too. */
    private final List<List<Call>> byChannel = new ArrayList<>();

    private int warps;

    /**
     * The arguments of a rank's kernels.
     *
     * @param memory by rank, where this rank reaches its memory for sends and receives
     * @param stop the host's word that ends kernels
     * @param mostBlocks the same on all ranks
     */
    TransferArguments(Arena arena, int rank, long[] memory, long stop, int mostBlocks) {
        this.mostBlocks = mostBlocks;
        int nRanks = memory.length;
        this.rank = rank;
        // Of the warps of so many blocks, half send.
        int most = Math.min(LANES, mostBlocks * WARPS_OF_BLOCK / 2);
        ownLanes = Math.min(OWN_LANES, most / nRanks);
        lanes = nRanks == 1 ? 0 : (most - ownLanes) / (nRanks - 1);
        struct = arena.allocate(SIZE, Long.BYTES);
        for (int q = 0; q < nRanks; q++) {
            struct.setAtIndex(ValueLayout.JAVA_LONG, q, memory[q]);
        }
        put(STOP, stop);
        putInt(RANK, rank);
        putInt(LANES_AT, lanes);
        putInt(OWN_LANES_AT, ownLanes);
        for (int i = 0; i < 2 * nRanks; i++) {
            byChannel.add(new ArrayList<>());
        }
        launch = new Launch(arena, struct);
    }

    private void put(int at, long value) {
        struct.set(ValueLayout.JAVA_LONG, at, value);
    }

    private void putInt(int at, int value) {
        struct.set(ValueLayout.JAVA_INT, at, value);
    }

    /** How kernels with these arguments are launched. */
    Launch launch() {
        return launch;
    }

    /** Which words the kernel is to write; 0 for none. */
    void words(long started, long done, long use) {
        put(STARTED, started);
        put(DONE, done);
        put(USE, use);
    }

    /**
     * Takes a group.
     *
     * @return how many kernels it takes, at least one. The n-th has the same messages of a channel
     *     on either side of it, if both ranks have them in one group.
     */
    int take(List<? extends Call> group) {
        byChannel.forEach(List::clear);
        int most = 1;
        for (Call call : group) {
            boolean sends = call.operation() == Operation.SEND;
            List<Call> channel = byChannel.get(call.peer() + (sends ? 0 : byChannel.size() / 2));
            channel.add(call);
            most = Math.max(most, channel.size());
        }
        return (most + MESSAGES - 1) / MESSAGES;
    }

    /** Describes the n-th kernel of the group, from 0. */
    void describe(int n) {
        int channels = 0;
        int transfers = 0;
        warps = 0;
        for (int i = 0; i < byChannel.size(); i++) {
            List<Call> calls = byChannel.get(i);
            int end = Math.min(calls.size(), (n + 1) * MESSAGES);
            if (n * MESSAGES >= end) {
                continue;
            }
            int half = byChannel.size() / 2;
            int at = CHANNEL + channels * CHANNEL_BYTES;
            putInt(at, i % half);
            putInt(at + 4, i / half);
            putInt(at + 8, warps);
            putInt(at + 12, transfers);
            putInt(at + 16, end - n * MESSAGES);
            int mine = 0;
            for (int k = n * MESSAGES; k < end; k++) {
                Call call = calls.get(k);
                long bytes = call.partBytes();
                boolean sends = call.operation() == Operation.SEND;
                put(TRANSFER + transfers * TRANSFER_BYTES, sends ? call.input() : call.output());
                put(TRANSFER + transfers * TRANSFER_BYTES + 8, bytes);
                long chunks = (bytes + CHUNK_DATA_BYTES - 1) / CHUNK_DATA_BYTES;
                int most = call.peer() == rank ? ownLanes : lanes;
                mine = (int) Math.max(mine, Math.min(most, chunks));
                transfers++;
            }
            warps += mine;
            channels++;
        }
        putInt(CHANNELS, channels);
        putInt(WARPS, warps);
    }

    private int warpsOfBlock() {
        int of = SMALL_BLOCK_WARPS;
        while (of < WARPS_OF_BLOCK && of * mostBlocks < warps) {
            of *= 2;
        }
        return of;
    }

    /** How many blocks the kernel has. */
    int blocks() {
        int of = warpsOfBlock();
        return Math.max(1, (warps + of - 1) / of);
    }

    /** How many threads a block has. */
    int threads() {
        return warpsOfBlock() * THREADS_OF_WARP;
    }
}
