package org.jccl.executor;

import org.jccl.call.Call;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.reduce.Reductions;
import org.jccl.type.PreMulSum;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

/**
 * What a rank gives in place of its caller's input: the input times the rank's factor, or a copy
 * where others read it while the rank writes its output to the same place. It lies in memory that
 * the calls of a communicator use one after the other. For the owner.
 */
final class InputCopy {
    /** Bytes of a tile that repeats the factor; the kernels for ncclProd make the products. */
    private static final int TILE_BYTES = 4096;

    /** How much the owner makes before it lets other threads in, which takes milliseconds. */
    private static final long TURN_BYTES = 4 << 20;

    /** More memory than this, of a larger call, is not kept for the next one. */
    private static final long KEPT_BYTES = 64 << 20;

    private final int nRanks;
    private final long[] sources = new long[2];
    private @Nullable SharedMemory memory;

    /** Where the tile lies, and behind it what is made of the present call. */
    private long tile;

    private Call call = new Call();
    private long bytes;
    private long made;

    InputCopy(int nRanks) {
        this.nRanks = nRanks;
    }

    /**
     * Begins a call that gives something in place of its input.
     *
     * @return where its input is read once {@link #make} has been true
     * @throws org.jccl.type.NcclException SYSTEM_ERROR if there is not enough memory
     */
    long begin(Call begun) {
        call = begun;
        made = 0;
        bytes = call.operation().inSize(call.partBytes(), nRanks);
        tile = tile();
        PreMulSum factor = call.factor();
        if (factor != null) {
            fill((int) Math.min(bytes, TILE_BYTES), factor);
        }
        return tile + TILE_BYTES;
    }

    /** How many bytes have been made. */
    long made() {
        return made;
    }

    /** Whether nothing is left to make. */
    boolean isMade() {
        return made == bytes;
    }

    /** Goes on for a while and returns whether nothing is left to make. */
    boolean make() {
        long end = Math.min(bytes, made + TURN_BYTES);
        PreMulSum factor = call.factor();
        if (factor == null) {
            Memory.copy(call.input() + made, tile + TILE_BYTES + made, end - made);
        } else {
            multiply(factor, end);
        }
        made = end;
        return isMade();
    }

    private void multiply(PreMulSum by, long end) {
        int type = by.type().number();
        int size = by.type().sizeBytes();
        for (long at = made; at < end; at += TILE_BYTES) {
            sources[0] = call.input() + at;
            sources[1] = tile;
            long to = tile + TILE_BYTES + at;
            long count = Math.min(TILE_BYTES, end - at) / size;
            Reductions.fold(type, RedOp.PROD.number(), to, sources, 2, count);
        }
    }

    private long tile() {
        SharedMemory kept = memory;
        if (kept == null || kept.sizeBytes() < bytes + TILE_BYTES) {
            close();
            kept = SharedMemory.anonymous(bytes + TILE_BYTES);
            memory = kept;
        }
        return kept.address();
    }

    private void fill(int size, PreMulSum by) {
        int filled = by.type().sizeBytes();
        if (by.address() == 0) {
            Memory.copyIn(by.factor(), 0, tile, filled);
        } else {
            Memory.copy(by.address(), tile, filled);
        }
        while (filled < size) {
            int more = Math.min(filled, size - filled);
            Memory.copy(tile, tile + filled, more);
            filled += more;
        }
    }

    /** The call that used the memory is over. */
    void release() {
        if (memory != null && memory.sizeBytes() > KEPT_BYTES) {
            close();
        }
    }

    void close() {
        SharedMemory kept = memory;
        memory = null;
        if (kept != null) {
            kept.close();
        }
    }
}
