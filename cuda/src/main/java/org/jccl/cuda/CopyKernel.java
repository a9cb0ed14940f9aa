package org.jccl.cuda;

import java.lang.foreign.Arena;

/**
 * How a thread launches the kernel of {@code copies.cu}. It does not begin before the kernel before
 * it is over: while that waits for another rank, it would keep kernels that this rank needs first
 * from the GPU.
 */
final class CopyKernel {
    private static final int TO = 0;
    private static final int FROM = 8;
    private static final int BYTES = 16;
    private static final int SIZE = 24;

    /** As in {@code copies.cu}; below, what a block copies at a time. */
    private static final int THREADS = 512;

    private static final long BLOCK_BYTES = THREADS * 16 * 4;

    /** Four for each multiprocessor of an H200; more would not copy faster. */
    private static final long MOST_BLOCKS = 528;

    /** Called by the host, the driver's own copy of more is as fast. */
    private static final long MOST_BYTES = 4 << 20;

    /** In a graph, the driver's own copy of less is faster. */
    private static final long LEAST_BYTES_OF_GRAPH = 256 << 20;

    private static final ThreadLocal<CopyKernel> OF_THREAD =
            ThreadLocal.withInitial(CopyKernel::new);

    private final Struct struct;
    private final Launch launch;

    private CopyKernel() {
        Arena arena = Arena.ofAuto();
        struct = new Struct(arena, SIZE);
        launch = new Launch(arena, struct).inTurn();
    }

    /** Whether it is the best way to copy so many bytes. */
    static boolean suits(long bytes, boolean captured) {
        return captured ? bytes >= LEAST_BYTES_OF_GRAPH : bytes <= MOST_BYTES;
    }

    /** How the calling thread launches a copy; it does so at once. */
    static Launch launch(long to, long from, long bytes, long stream) {
        CopyKernel mine = OF_THREAD.get();
        mine.struct.put(TO, to);
        mine.struct.put(FROM, from);
        mine.struct.put(BYTES, bytes);
        mine.launch.show(SIZE);
        long blocks = Math.min(MOST_BLOCKS, (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES);
        mine.launch.shape((int) blocks, THREADS, stream);
        return mine.launch;
    }
}
