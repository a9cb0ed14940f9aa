package org.jccl;

import org.jccl.executor.Counters;
import org.jccl.type.Operation;

import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Counters of one rank of a communicator since it was made.
 *
 * @param calls completed calls of each operation
 * @param payloadBytes bytes of the whole buffers of those calls, as nccl-tests counts them
 * @param sharedMemoryBytes payload that ranks of the same node read from this one
 * @param netBytes payload that this rank sent over TCP
 */
public record Statistics(
        Map<Operation, Long> calls,
        Map<Operation, Long> payloadBytes,
        long sharedMemoryBytes,
        long netBytes) {
    static Statistics of(Counters counters) {
        return new Statistics(
                ofEach(counters::calls),
                ofEach(counters::payloadBytes),
                counters.sharedMemoryBytes(),
                counters.netBytes());
    }

    private static Map<Operation, Long> ofEach(Function<Operation, Long> counter) {
        return Arrays.stream(Operation.values())
                .collect(Collectors.toUnmodifiableMap(Function.identity(), counter));
    }
}
