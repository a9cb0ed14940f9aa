package org.jccl.cuda;

import org.jccl.platform.Memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * How kernels with the same arguments are launched: {@code CUlaunchConfig}, with one attribute if
 * the launch is to overlap with the end of the kernel before in the stream. One thread at a time.
 */
final class Launch {
    private static final int GRID = 0;
    private static final int BLOCK = 12;
    private static final int STREAM = 32;
    private static final int ATTRIBUTES = 40;
    private static final int ATTRIBUTE_COUNT = 48;
    private static final int CONFIG_BYTES = 56;
    private static final int ATTRIBUTE_BYTES = 72;
    private static final int ATTRIBUTE_VALUE = 8;

    /** {@code CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION}. */
    private static final int OVERLAP = 6;

    /** {@code CU_LAUNCH_PARAM_END}, and what tells where the argument is and its bytes. */
    private static final long END = 0;

    private static final long POINTER = 1;
    private static final long SIZE = 2;

    private final Struct config;

    private final Struct argument;

    /** Where C finds how many bytes of the argument kernels get. */
    private final long bytesAt;

    /** Where C finds the two above. */
    private final long parameters;

    // What the configuration says.
    private int blocks;
    private int threads;
    private long stream;

    /**
     * @param argument the only one of the kernels
     */
    Launch(Arena arena, Struct argument) {
        this.argument = argument;
        bytesAt = arena.allocate(ValueLayout.JAVA_LONG).address();
        long[] said = {POINTER, argument.address(), SIZE, bytesAt, END};
        parameters = arena.allocateFrom(ValueLayout.JAVA_LONG, said).address();
        MemorySegment attribute = arena.allocate(ATTRIBUTE_BYTES, Long.BYTES);
        attribute.set(ValueLayout.JAVA_INT, 0, OVERLAP);
        attribute.set(ValueLayout.JAVA_INT, ATTRIBUTE_VALUE, 1);
        config = new Struct(arena, CONFIG_BYTES);
        for (int dimension = 0; dimension < 3; dimension++) {
            config.putInt(GRID + 4 * dimension, 1);
            config.putInt(BLOCK + 4 * dimension, 1);
        }
        config.put(ATTRIBUTES, attribute.address());
        config.putInt(ATTRIBUTE_COUNT, 1);
    }

    /** Lets kernels take places on the GPU only when the one before in the stream is over. */
    Launch inTurn() {
        config.putInt(ATTRIBUTE_COUNT, 0);
        return this;
    }

    /** Sets how many blocks of how many threads run, and in which stream. */
    void shape(int itsBlocks, int itsThreads, long itsStream) {
        if (itsBlocks == blocks && itsThreads == threads && itsStream == stream) {
            return;
        }
        blocks = itsBlocks;
        threads = itsThreads;
        stream = itsStream;
        config.putInt(GRID, blocks);
        config.putInt(BLOCK, threads);
        config.put(STREAM, stream);
        config.copy(CONFIG_BYTES);
    }

    /**
     * Shows C the first bytes of the argument; the kernel that gets them reads no others, and a
     * launch with 4 KiB takes some microseconds longer.
     *
     * @param bytes a multiple of 8
     */
    void show(long bytes) {
        argument.copy(bytes);
        Memory.putLong(bytesAt, bytes);
    }

    /**
     * Gives the stream a kernel, in the context of the device.
     *
     * @return the driver's result
     */
    int run(long function) {
        return Native.launch(config.address(), function, parameters);
    }
}
