package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.Supplier;

/**
 * The kernels of {@code exchange.cu}, {@code pieces.cu}, {@code transfers.cu} and {@code copies.cu}
 * on one device.
 */
final class Kernels {
    /** As in {@code exchange.cu}. */
    static final int MOST_BLOCKS = 128;

    private static final int THREADS_OF_LINE = 8;
    private static final int LINE_DATA_BYTES = 120;

    /** As in {@code pieces.cu}. */
    static final int MOST_LANES = 256;

    /** A block of 512 threads takes as much room as so many lanes. */
    private static final int LANES_OF_BLOCK = 4;

    /** If all ranks' parts together have more bytes, blocks are larger. */
    private static final long LARGE = 512 << 10;

    private static final int THREADS_OF_WARP = 32;
    private static final int LINES_OF_WARP = THREADS_OF_WARP / THREADS_OF_LINE;

    /** From so many bytes on pieces are faster than lines. */
    private static final long LONG = 8 << 20;

    /** The same if every rank sends all that it has and receives as much. */
    private static final long LONG_BOTH_WAYS = 32 << 20;

    /** How a part is moved, and by blocks of how many threads. */
    private enum Size {
        SMALL(256),
        LARGE(512),
        LONG(128);

        private final int threads;

        Size(int threads) {
            this.threads = threads;
        }
    }

    private static final int TYPES = DataType.values().length;

    /** SUM, PROD, MAX and MIN, as they are numbered. */
    private static final int FOLDS = 4;

    /** The compiled kernels, null where this jar was made without. */
    private static final byte @Nullable [] EXCHANGE = image("exchange.fatbin");

    private static final byte @Nullable [] PIECES = image("pieces.fatbin");
    private static final byte @Nullable [] TRANSFERS = image("transfers.fatbin");
    private static final byte @Nullable [] COPIES = image("copies.fatbin");

    // For parts of each size: the function that copies, then for each type those that fold.
    private final long[] small;
    private final long[] large;
    private final long[] pieces;

    private final long transfers;
    private final long copies;

    /**
     * Loads all of them, in some 10 ms. A device must do that before any communicator uses it: the
     * driver loads once the device has done everything that it was given, which may wait for
     * another rank, and keeps other threads waiting meanwhile.
     *
     * @return throws the {@link NcclException} of the device if that has refused them
     */
    static Supplier<Kernels> loaded(CudaDevice device) {
        try {
            Kernels all = new Kernels(device);
            return () -> all;
        } catch (NcclException refused) {
            return () -> {
                throw refused;
            };
        }
    }

    private Kernels(CudaDevice device) {
        transfers = device.function(device.load(required(TRANSFERS, device)), "jccl_transfers");
        copies = COPIES == null ? 0 : device.function(device.load(COPIES), "jccl_copy_bytes");
        long lines = device.load(required(EXCHANGE, device));
        small = load(device, lines, "_small");
        large = load(device, lines, "_large");
        pieces = load(device, device.load(required(PIECES, device)), "_long");
    }

    private static long[] load(CudaDevice device, long module, String suffix) {
        long[] loaded = new long[1 + TYPES * FOLDS];
        loaded[0] = device.function(module, "jccl_copy" + suffix);
        for (int type = 0; type < TYPES; type++) {
            for (int fold = 0; fold < FOLDS; fold++) {
                String name = "jccl_fold_" + type + "_" + fold + suffix;
                loaded[1 + type * FOLDS + fold] = device.function(module, name);
            }
        }
        return loaded;
    }

    private static byte[] required(byte @Nullable [] image, CudaDevice device) {
        if (image == null) {
            throw ErrorKind.DEVICE_FAILED.says(
                    "there are no kernels for %s: cuda/kernels.sh makes them for the jar of JCCL's"
                            + " module cuda",
                    device.name());
        }
        return image;
    }

    private static byte @Nullable [] image(String file) {
        try (InputStream in = Kernels.class.getResourceAsStream(file)) {
            return in == null ? null : in.readAllBytes();
        } catch (IOException unreadable) {
            return null;
        }
    }

    /** The kernel for a call of so many ranks. */
    long function(Call call, int nRanks) {
        boolean folds = call.operation().reduces();
        int index = folds ? 1 + call.typeNumber() * FOLDS + foldOf(call.redOp()) : 0;
        return switch (size(call, nRanks)) {
            case SMALL -> small[index];
            case LARGE -> large[index];
            case LONG -> pieces[index];
        };
    }

    /** The same on all ranks. */
    private static Size size(Call call, int nRanks) {
        if (inPieces(call)) {
            return Size.LONG;
        }
        return call.partBytes() * nRanks <= LARGE ? Size.SMALL : Size.LARGE;
    }

    /** Whether a call is one for {@code pieces.cu}. */
    static boolean inPieces(Call call) {
        boolean bothWays = call.operation() == Operation.ALL_REDUCE;
        return call.partBytes() >= (bothWays ? LONG_BOTH_WAYS : LONG);
    }

    /** The kernel for sends and receives. */
    long transfers() {
        return transfers;
    }

    /** The kernel for copies within a GPU's memory; 0 where this jar was made without. */
    long copies() {
        return copies;
    }

    /** An average is a sum that is divided at the end. */
    private static int foldOf(int redOp) {
        return redOp == RedOp.AVG.number() ? RedOp.SUM.number() : redOp;
    }

    /**
     * How many blocks a call of so many ranks takes; all ranks' are equal. Where nothing is folded,
     * a warp exchanges lines with one rank.
     *
     * @param most of 512 threads
     */
    static int blocks(Call call, int nRanks, int slotLines, int most) {
        if (inPieces(call)) {
            return lanes(most);
        }
        long lines = (call.partBytes() + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES;
        int warps = threads(call, nRanks) / THREADS_OF_WARP;
        int sets = call.operation().reduces() ? warps : warps / nRanks;
        long atOnce = (long) sets * LINES_OF_WARP;
        return (int) Math.min(most, (Math.min(slotLines, lines) + atOnce - 1) / atOnce);
    }

    /** How many lanes have room in the place of so many blocks of 512 threads. */
    static int lanes(int blocks) {
        return Math.min(MOST_LANES, LANES_OF_BLOCK * blocks);
    }

    /** How many threads a block has; the same on all ranks. */
    static int threads(Call call, int nRanks) {
        return size(call, nRanks).threads;
    }
}
