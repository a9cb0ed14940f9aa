package org.jccl.executor;

import org.jccl.call.Call;
import org.jccl.platform.Memory;
import org.jccl.platform.SharedMemory;
import org.jccl.reduce.Reductions;
import org.jccl.type.PreMulSum;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

/**
 * A rank's input times its factor, in memory that the calls of a communicator use one after the
 * other. For the owner.
 */
final class Premultiplied {
    /** Bytes of a tile that repeats the factor; the kernels for ncclProd make the products. */
    private static final int TILE_BYTES = 4096;

    /** More memory than this, of a larger call, is not kept for the next one. */
    private static final long KEPT_BYTES = 64 << 20;

    private final int nRanks;
    private final long[] sources = new long[2];
    private @Nullable SharedMemory memory;

    Premultiplied(int nRanks) {
        this.nRanks = nRanks;
    }

    /**
     * Where the input of a call is read: its own, or its products.
     *
     * @throws org.jccl.type.NcclException SYSTEM_ERROR if there is not enough memory
     */
    long input(Call call) {
        PreMulSum factor = call.factor();
        return factor == null
                ? call.input()
                : products(call.input(), call.operation().inSize(call.partBytes(), nRanks), factor);
    }

    private long products(long input, long bytes, PreMulSum factor) {
        long tile = tile(bytes);
        fill(tile, (int) Math.min(bytes, TILE_BYTES), factor);
        long products = tile + TILE_BYTES;
        int size = factor.type().sizeBytes();
        for (long at = 0; at < bytes; at += TILE_BYTES) {
            sources[0] = input + at;
            sources[1] = tile;
            long count = Math.min(TILE_BYTES, bytes - at) / size;
            int type = factor.type().number();
            Reductions.fold(type, RedOp.PROD.number(), products + at, sources, 2, count);
        }
        return products;
    }

    private long tile(long bytes) {
        SharedMemory kept = memory;
        if (kept == null || kept.sizeBytes() < bytes + TILE_BYTES) {
            close();
            kept = SharedMemory.anonymous(bytes + TILE_BYTES);
            memory = kept;
        }
        return kept.address();
    }

    private static void fill(long tile, int bytes, PreMulSum factor) {
        int filled = factor.type().sizeBytes();
        if (factor.address() == 0) {
            Memory.copyIn(factor.factor(), 0, tile, filled);
        } else {
            Memory.copy(factor.address(), tile, filled);
        }
        while (filled < bytes) {
            int more = Math.min(filled, bytes - filled);
            Memory.copy(tile, tile + filled, more);
            filled += more;
        }
    }

    /** The call that used the memory is over. */
    void release() {
        SharedMemory kept = memory;
        if (kept != null && kept.sizeBytes() > KEPT_BYTES) {
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
