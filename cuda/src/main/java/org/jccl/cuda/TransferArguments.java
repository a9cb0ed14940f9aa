package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.device.DeviceCollectives;
import org.jccl.type.Operation;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;

/**
 * What a kernel of {@code transfers.cu} is told, as its struct {@code Transfers} has it. Used for
 * one group of sends and receives after the other, by one thread at a time.
 */
final class TransferArguments {
    /** Parts of collectives that copy are sent and received if they have at least so many bytes. */
    private static final long LARGE_PART = 16 << 20;

    /** How many messages of a channel one kernel moves. */
    private static final int MESSAGES = DeviceCollectives.AT_ONCE;

    private static final int LANES = 512;
    private static final int CHUNK_DATA_BYTES = 16 * 120;
    private static final int COPY_BYTES = 4096;
    private static final int WARPS_OF_BLOCK = 16;
    private static final int THREADS_OF_WARP = 32;
    private static final int SMALL_BLOCK_WARPS = 4;

    /** Kinds of channels. */
    private static final int SENDS = 0;

    private static final int RECEIVES = 1;
    private static final int COPIES = 2;

    private static final int STOP = 64;
    private static final int STARTED = 72;
    private static final int DONE = 80;
    private static final int USE = 88;
    private static final int RANK = 96;
    private static final int LANES_AT = 100;
    private static final int CHANNELS = 104;
    private static final int WARPS = 108;
    private static final int CHANNEL = 112;
    private static final int CHANNEL_BYTES = 24;
    private static final int TRANSFER =
            CHANNEL + (2 * LaunchArguments.MOST_RANKS - 1) * CHANNEL_BYTES;
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
    }

    private final MemorySegment struct;
    private final Launch launch;
    private final int rank;
    private final int nRanks;
    private final int mostBlocks;

    /** Of each channel. */
    private final int lanes;

    /** How many warps copy at most. */
    private final int copyWarps;

    /** By peer. */
    private final Messages[] sends;

    private final Messages[] receives;

    // What the kernel that is described has so far.
    private int channels;
    private int transfers;
    private int warps;

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
        // An eighth of the warps copies; of the others, half sends and half receives.
        copyWarps = mostBlocks * WARPS_OF_BLOCK / 8;
        int eachWay = (mostBlocks * WARPS_OF_BLOCK - copyWarps) / 2;
        lanes = Math.min(LANES, eachWay) / Math.max(1, nRanks - 1);
        sends = messages();
        receives = messages();
        struct = arena.allocate(SIZE, Long.BYTES);
        for (int q = 0; q < nRanks; q++) {
            struct.setAtIndex(ValueLayout.JAVA_LONG, q, memory[q]);
        }
        put(STOP, stop);
        putInt(RANK, rank);
        putInt(LANES_AT, lanes);
        launch = new Launch(arena, struct);
    }

    private Messages[] messages() {
        Messages[] all = new Messages[nRanks];
        Arrays.setAll(all, q -> new Messages());
        return all;
    }

    /**
     * Whether a collective is one for {@link #take(Call)}; the same on all ranks. An all-to-all is
     * not: in place, a part must be sent before another one comes to where it was.
     */
    static boolean moves(Call call) {
        Operation op = call.operation();
        boolean exchanges = op.in() == Operation.Parts.EACH && op.out() == Operation.Parts.EACH;
        return !op.reduces() && !exchanges && call.partBytes() >= LARGE_PART;
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

    private void clear() {
        for (int q = 0; q < nRanks; q++) {
            sends[q].size = 0;
            receives[q].size = 0;
        }
    }

    /**
     * Takes a group of sends and receives.
     *
     * @return how many kernels it takes, at least one. The n-th has the same messages of a channel
     *     on either side of it, if both ranks have them in one group.
     */
    int take(List<? extends Call> group) {
        clear();
        int most = 1;
        for (Call call : group) {
            boolean out = call.operation() == Operation.SEND;
            Messages messages = out ? sends[call.peer()] : receives[call.peer()];
            messages.add(out ? call.input() : call.output(), call.partBytes());
            most = Math.max(most, messages.size);
        }
        return (most + MESSAGES - 1) / MESSAGES;
    }

    /** Takes a collective that copies; it takes one kernel. */
    void take(Call call) {
        clear();
        Roles roles = Roles.of(call, rank, nRanks);
        long bytes = call.partBytes();
        for (int q = 0; q < nRanks; q++) {
            boolean takes = roles.receivesFrom(q);
            if (q == rank ? takes : roles.sendsTo(q)) {
                sends[q].add(call.input() + q * roles.inStride(), bytes);
            }
            if (takes) {
                receives[q].add(call.output() + q * roles.outStride(), bytes);
            }
        }
    }

    /** Describes the n-th kernel, from 0. */
    void describe(int n) {
        channels = 0;
        transfers = 0;
        warps = 0;
        for (int q = 0; q < nRanks; q++) {
            if (q != rank) {
                describe(q, SENDS, sends[q], n);
                describe(q, RECEIVES, receives[q], n);
            }
        }
        describeCopies(n);
        putInt(CHANNELS, channels);
        putInt(WARPS, warps);
    }

    private void describe(int q, int kind, Messages messages, int n) {
        int end = Math.min(messages.size, (n + 1) * MESSAGES);
        int first = transfers;
        long most = 0;
        for (int i = n * MESSAGES; i < end; i++) {
            transfer(messages, i);
            long chunks = (messages.bytes[i] + CHUNK_DATA_BYTES - 1) / CHUNK_DATA_BYTES;
            most = Math.max(most, Math.min(lanes, chunks));
        }
        channel(q, kind, (int) most, first, transfers - first);
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
        channel(rank, COPIES, (int) most, first, (transfers - first) / 2);
    }

    private void transfer(Messages messages, int i) {
        put(TRANSFER + transfers * TRANSFER_BYTES, messages.addresses[i]);
        put(TRANSFER + transfers * TRANSFER_BYTES + 8, messages.bytes[i]);
        transfers++;
    }

    private void channel(int q, int kind, int itsWarps, int first, int count) {
        if (itsWarps == 0) {
            return;
        }
        int at = CHANNEL + channels * CHANNEL_BYTES;
        putInt(at, q);
        putInt(at + 4, kind);
        putInt(at + 8, warps);
        putInt(at + 12, itsWarps);
        putInt(at + 16, first);
        putInt(at + 20, count);
        warps += itsWarps;
        channels++;
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
