package org.jccl.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * How kernels with the same arguments are launched: {@code CUlaunchConfig} with one attribute,
 * which lets the launch overlap with the end of the kernel before in the stream. One thread at a
 * time.
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

    private final MemorySegment config;
    private final MemorySegment parameters;

    /**
     * @param struct the only argument of the kernels
     */
    Launch(Arena arena, MemorySegment struct) {
        parameters = arena.allocateFrom(ValueLayout.JAVA_LONG, struct.address());
        MemorySegment attribute = arena.allocate(ATTRIBUTE_BYTES, Long.BYTES);
        attribute.set(ValueLayout.JAVA_INT, 0, OVERLAP);
        attribute.set(ValueLayout.JAVA_INT, ATTRIBUTE_VALUE, 1);
        config = arena.allocate(CONFIG_BYTES, Long.BYTES);
        for (int dimension = 0; dimension < 3; dimension++) {
            config.set(ValueLayout.JAVA_INT, GRID + 4L * dimension, 1);
            config.set(ValueLayout.JAVA_INT, BLOCK + 4L * dimension, 1);
        }
        config.set(ValueLayout.JAVA_LONG, ATTRIBUTES, attribute.address());
        config.set(ValueLayout.JAVA_INT, ATTRIBUTE_COUNT, 1);
    }

    /**
     * Gives a stream a kernel, in the context of the device.
     *
     * @return the driver's result
     */
    int with(long function, int blocks, int threads, long stream) {
        config.set(ValueLayout.JAVA_INT, GRID, blocks);
        config.set(ValueLayout.JAVA_INT, BLOCK, threads);
        config.set(ValueLayout.JAVA_LONG, STREAM, stream);
        return Native.launch(config, function, parameters);
    }
}
