package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.device.DeviceCollectives;
import org.jccl.type.Operation;

import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;

/**
 * What a kernel of {@code transfers.cu} is told, as its struct {@code Transfers} has it. Used for
 * one group of sends and receives after the other, by one thread at a time.
 */
final class TransferArguments {
    /** How many messages of a channel one kernel moves. */
    private static final int MESSAGES = DeviceCollectives.AT_ONCE;

    private static final int LANES = 512;

    /** Messages of so many bytes go through long channels. */
    private static final long LONG_BYTES = 16 << 20;

    private static final int LINE_DATA_BYTES = 120;
    private static final int LINES_OF_WARP = 4;

    /** Of how many lines of a chunk a thread has a part at most. */
    private static final int MOST_LINES = 4;

    /** Over how many warps that send to other ranks a short message is spread. */
    private static final int SPREAD_WARPS = 256;

    private static final int COPY_BYTES = 4096;
    private static final int WARPS_OF_BLOCK = 16;
    private static final int THREADS_OF_WARP = 32;
    private static final int SMALL_BLOCK_WARPS = 4;

    /** Of a block, which has one lane, if there are long messages. */
    private static final int LONG_BLOCK_WARPS = 4;

    /** Kinds of channels. */
    private static final int SENDS = 0;

    private static final int RECEIVES = 1;
    private static final int COPIES = 2;
    private static final int LONG = 3;

    private static final int STOP = 64;
    private static final int STARTED = 72;
    private static final int DONE = 80;
    private static final int USE = 88;
    private static final int RANK = 96;
    private static final int LANES_AT = 100;
    private static final int LONG_LANES_AT = 104;
    private static final int CHANNELS = 108;
    private static final int RANKS = 112;
    private static final int SPREAD = 116;
    private static final int CHANNEL = 120;
    private static final int CHANNEL_BYTES = 16;
    private static final int MOST_CHANNELS = 3 * (LaunchArguments.MOST_RANKS - 1) + 1;

    /** Behind the channels, at a multiple of 8. */
    private static final int TRANSFER = (CHANNEL + MOST_CHANNELS * CHANNEL_BYTES + 7) / 8 * 8;

    private static final int TRANSFER_BYTES = 16;
    private static final int SIZE =
            TRANSFER + 2 * LaunchArguments.MOST_RANKS * MESSAGES * TRANSFER_BYTES;

    /** Messages of one peer and direction, in their order. */
    private static final class Messages {
        private long[] addresses = new long[4];
        private long[] bytes = new long[4];
        private int size;

        void add(long address, long count) {
            if (size == addresses.length) {
                addresses = Arrays.copyOf(addresses, 2 * size);
                bytes = Arrays.copyOf(bytes, 2 * size);
            }
            addresses[size] = address;
            bytes[size] = count;
            size++;
        }

        boolean isLong(int i) {
            return bytes[i] >= LONG_BYTES;
        }
    }

    private final Struct struct;
    private final Launch launch;
    private final int rank;
    private final int nRanks;
    private final int mostBlocks;

    /** Of each channel. */
    private final int lanes;

    /** Of each long channel. */
    private final int longLanes;

    /** Over how many lanes a short message is spread, so that each has few of its lines. */
    private final int spread;

    /** How many warps copy at most. */
    private final int copyWarps;

    /** By peer. */
    private final Messages[] sends;

    private final Messages[] receives;

    // What the kernel that is described has so far.
    private int channels;
    private int transfers;
    private int warps;
    private boolean hasLong;

    /**
     * The arguments of a rank's kernels.
     *
     * @param memory by rank, where this rank reaches its memory for these
     * @param stop the host's word that ends kernels
     * @param mostBlocks the same on all ranks
     */
    TransferArguments(Arena arena, int rank, long[] memory, long stop, int mostBlocks) {
        this.rank = rank;
        this.nRanks = memory.length;
        this.mostBlocks = mostBlocks;
        copyWarps = copyWarps(mostBlocks);
        lanes = lanes(mostBlocks, nRanks);
        longLanes = Math.max(1, Kernels.lanes(mostBlocks) / Math.max(1, nRanks - 1));
        spread = spread(lanes, nRanks);
        sends = messages();
        receives = messages();
        struct = new Struct(arena, SIZE);
        for (int q = 0; q < nRanks; q++) {
            struct.put(q * Long.BYTES, memory[q]);
        }
        struct.put(STOP, stop);
        struct.putInt(RANK, rank);
        struct.putInt(LANES_AT, lanes);
        struct.putInt(LONG_LANES_AT, longLanes);
        struct.putInt(RANKS, nRanks);
        struct.putInt(SPREAD, spread);
        launch = new Launch(arena, struct);
    }

    /** An eighth of all warps copies. */
    private static int copyWarps(int mostBlocks) {
        return mostBlocks * WARPS_OF_BLOCK / 8;
    }

    /**
     * How many lanes a channel has; of the warps that do not copy, half sends and half receives.
     */
    static int lanes(int mostBlocks, int nRanks) {
        int eachWay = (mostBlocks * WARPS_OF_BLOCK - copyWarps(mostBlocks)) / 2;
        return Math.min(LANES, eachWay) / Math.max(1, nRanks - 1);
    }

    static int spread(int lanes, int nRanks) {
        return Math.min(lanes, SPREAD_WARPS / Math.max(1, nRanks - 1));
    }

    private Messages[] messages() {
        Messages[] all = new Messages[nRanks];
        Arrays.setAll(all, q -> new Messages());
        return all;
    }

    /** How kernels with these arguments are launched. */
    Launch launch() {
        return launch;
    }

    /** Ends the description with the words that the kernel is to write; 0 for none. */
    void words(long started, long done, long use) {
        struct.put(STARTED, started);
        struct.put(DONE, done);
        struct.put(USE, use);
        launch.show(TRANSFER + (long) transfers * TRANSFER_BYTES);
    }

    /**
     * Takes a group of sends and receives.
     *
     * @return how many kernels it takes, at least one. The n-th has the same messages of a channel
     *     on either side of it, if both ranks have them in one group.
     */
    int take(List<? extends Call> group) {
        for (int q = 0; q < nRanks; q++) {
            sends[q].size = 0;
            receives[q].size = 0;
        }
        int most = 1;
        for (Call call : group) {
            boolean out = call.operation() == Operation.SEND;
            Messages messages = out ? sends[call.peer()] : receives[call.peer()];
            messages.add(out ? call.input() : call.output(), call.partBytes());
            most = Math.max(most, messages.size);
        }
        return (most + MESSAGES - 1) / MESSAGES;
    }

    /** Begins the description of the n-th kernel, from 0, and in which stream it runs. */
    void describe(int n, long stream) {
        channels = 0;
        transfers = 0;
        warps = 0;
        hasLong = false;
        for (int q = 0; q < nRanks; q++) {
            if (q != rank) {
                describe(q, SENDS, sends[q], n);
                describe(q, RECEIVES, receives[q], n);
            }
        }
        describeCopies(n);
        // A lane of a long channel is a block.
        warps = (warps + LONG_BLOCK_WARPS - 1) / LONG_BLOCK_WARPS * LONG_BLOCK_WARPS;
        for (int q = 0; q < nRanks; q++) {
            if (q != rank) {
                describeLong(q, n);
            }
        }
        struct.putInt(CHANNELS, channels);
        launch.shape(blocks(), warpsOfBlock() * THREADS_OF_WARP, stream);
    }

    private void describe(int q, int kind, Messages messages, int n) {
        int end = Math.min(messages.size, (n + 1) * MESSAGES);
        int first = transfers;
        long most = 0;
        for (int i = n * MESSAGES; i < end; i++) {
            if (!messages.isLong(i)) {
                transfer(messages, i);
                most = Math.max(most, Math.min(lanes, chunks(messages.bytes[i], spread)));
            }
        }
        channel(q, kind, (int) most, first, 0);
    }

    /** Of how many chunks a short message consists. */
    static long chunks(long bytes, int spread) {
        long lines = (bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES;
        long ofAll = (long) LINES_OF_WARP * spread;
        long each = Math.clamp((lines + ofAll - 1) / ofAll, 1, MOST_LINES);
        return (lines + each * LINES_OF_WARP - 1) / (each * LINES_OF_WARP);
    }

    private void describeLong(int q, int n) {
        int first = transfers;
        describeLong(sends[q], n);
        int receivesFrom = transfers;
        describeLong(receives[q], n);
        if (transfers > first) {
            hasLong = true;
            channel(q, LONG, longLanes * LONG_BLOCK_WARPS, first, transfers - receivesFrom);
        }
    }

    private void describeLong(Messages messages, int n) {
        int end = Math.min(messages.size, (n + 1) * MESSAGES);
        for (int i = n * MESSAGES; i < end; i++) {
            if (messages.isLong(i)) {
                transfer(messages, i);
            }
        }
    }

    /** A send of this rank to itself, and the receive that it belongs to. */
    private void describeCopies(int n) {
        int pairs = Math.min(sends[rank].size, receives[rank].size);
        int end = Math.min(pairs, (n + 1) * MESSAGES);
        int first = transfers;
        long most = 0;
        for (int i = n * MESSAGES; i < end; i++) {
            transfer(sends[rank], i);
            transfer(receives[rank], i);
            long steps = (sends[rank].bytes[i] + COPY_BYTES - 1) / COPY_BYTES;
            most = Math.max(most, Math.min(copyWarps, steps));
        }
        channel(rank, COPIES, (int) most, first, 0);
    }

    private void transfer(Messages messages, int i) {
        struct.put(TRANSFER + transfers * TRANSFER_BYTES, messages.addresses[i]);
        struct.put(TRANSFER + transfers * TRANSFER_BYTES + 8, messages.bytes[i]);
        transfers++;
    }

    /** Those transfers from {@code first} on, the last of which are received. */
    private void channel(int q, int kind, int itsWarps, int first, int received) {
        if (itsWarps == 0) {
            return;
        }
        int at = CHANNEL + channels * CHANNEL_BYTES;
        struct.putShort(at, q);
        struct.putShort(at + 2, kind);
        struct.putShort(at + 4, warps);
        struct.putShort(at + 6, itsWarps);
        struct.putShort(at + 8, first);
        struct.putShort(at + 10, transfers - first);
        struct.putShort(at + 12, received);
        warps += itsWarps;
        channels++;
    }

    private int warpsOfBlock() {
        if (hasLong) {
            return LONG_BLOCK_WARPS;
        }
        int of = SMALL_BLOCK_WARPS;
        while (of < WARPS_OF_BLOCK && of * mostBlocks < warps) {
            of *= 2;
        }
        return of;
    }

    private int blocks() {
        int of = warpsOfBlock();
        return Math.max(1, (warps + of - 1) / of);
    }
}
