package org.jccl.collective;

import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;

/** All algorithms, and which one a call gets unless somebody says otherwise. */
public final class Algorithms {
    /**
     * AllReduce is flat while (n - 2) s is at most this. Against slices it saves one signal, about
     * 1.5 &micro;s with a core for each rank, and folds (n - 2) s bytes more at some 10 GB/s.
     */
    private static final long FLAT_EXTRA_BYTES = 16384;

    /** A broadcast of more than this is worth overlapping root and readers. */
    private static final long FLAT_BROADCAST_BYTES = 65536;

    private static final List<Algorithm> ALL =
            List.of(
                    new AllReduceTiny(),
                    new AllReduceFlat(),
                    new AllReduceSliced(),
                    new AllGatherTiny(),
                    new AllGatherFlat(),
                    new AllGatherSliced(),
                    new ReduceScatterTiny(),
                    new ReduceScatterFlat(),
                    new ReduceScatterSliced(),
                    new ReduceScatterChunked(),
                    new BroadcastTiny(),
                    new BroadcastFlat(),
                    new BroadcastChunked(),
                    new SendFifo(),
                    new RecvFifo());

    private Algorithms() {}

    /** Every algorithm; of each operation, those with the least latency first. */
    public static List<Algorithm> all() {
        return ALL;
    }

    /**
     * The algorithm for a call: the same on all ranks, since it looks at nothing but the shape.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static Algorithm choose(Shape shape) {
        for (Algorithm algorithm : ALL) {
            if (algorithm.supports(shape) && !(isFlat(algorithm) && tooLargeForFlat(shape))) {
                return algorithm;
            }
        }
        throw new IllegalArgumentException("no algorithm for " + shape);
    }

    private static boolean isFlat(Algorithm algorithm) {
        return algorithm instanceof AllReduceFlat || algorithm instanceof BroadcastFlat;
    }

    private static boolean tooLargeForFlat(Shape shape) {
        return shape.operation() == Operation.ALL_REDUCE
                ? shape.bytes() * (shape.nRanks() - 2) > FLAT_EXTRA_BYTES
                : shape.bytes() > FLAT_BROADCAST_BYTES;
    }
}
