package org.jccl.cuda;

import org.jccl.call.Call;
import org.jccl.type.DataType;
import org.jccl.type.ErrorKind;
import org.jccl.type.RedOp;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;

/** The kernels of {@code exchange.cu} and {@code transfers.cu} on one device. */
final class Kernels {
    /** As in {@code exchange.cu}. */
    static final int MOST_BLOCKS = 128;

    private static final int THREADS = 256;
    private static final int MOST_THREADS = 512;
    private static final int THREADS_OF_LINE = 8;
    private static final int LINE_DATA_BYTES = 120;

    /** Larger parts get larger blocks. */
    private static final long LARGE = 512 << 10;

    private static final int TYPES = DataType.values().length;

    /** SUM, PROD, MAX and MIN, as they are numbered. */
    private static final int FOLDS = 4;

    /** The compiled kernels, null where this jar was made without. */
    private static final byte @Nullable [] EXCHANGE = image("exchange.fatbin");

    private static final byte @Nullable [] TRANSFERS = image("transfers.fatbin");

    /** For copies, then for each type the folds; each for small parts, then for large ones. */
    private final long[] functions = new long[2 * (1 + TYPES * FOLDS)];

    private final long transfers;

    /**
     * Loads all of them. What is loaded later has to wait until the device has done everything that
     * it was given, which may in turn wait for the caller.
     */
    Kernels(CudaDevice device) {
        transfers = device.function(device.load(required(TRANSFERS, device)), "jccl_transfers");
        long module = device.load(required(EXCHANGE, device));
        load(device, module, 0, "jccl_copy");
        for (int type = 0; type < TYPES; type++) {
            for (int fold = 0; fold < FOLDS; fold++) {
                load(device, module, 1 + type * FOLDS + fold, "jccl_fold_" + type + "_" + fold);
            }
        }
    }

    private void load(CudaDevice device, long module, int index, String name) {
        functions[2 * index] = device.function(module, name + "_small");
        functions[2 * index + 1] = device.function(module, name + "_large");
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

    /** The kernel for a call. */
    long function(Call call) {
        boolean folds = call.operation().reduces();
        int index = folds ? 1 + call.typeNumber() * FOLDS + foldOf(call.redOp()) : 0;
        return functions[2 * index + (call.partBytes() <= LARGE ? 0 : 1)];
    }

    /** The kernel for sends and receives. */
    long transfers() {
        return transfers;
    }

    /** An average is a sum that is divided at the end. */
    private static int foldOf(int redOp) {
        return redOp == RedOp.AVG.number() ? RedOp.SUM.number() : redOp;
    }

    /**
     * How many blocks a part of so many bytes takes, at most {@code most}; all ranks' are equal.
     */
    static int blocks(long bytes, int slotLines, int most) {
        long lines = Math.min(slotLines, (bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES);
        long atOnce = threads(bytes) / THREADS_OF_LINE;
        return (int) Math.min(most, (lines + atOnce - 1) / atOnce);
    }

    /** How many threads a block has; the same on all ranks. */
    static int threads(long bytes) {
        return bytes <= LARGE ? THREADS : MOST_THREADS;
    }
}
