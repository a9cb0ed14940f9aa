package org.jccl;

import org.jccl.executor.Counters;
import org.jccl.type.Operation;

import java.util.EnumMap;
import java.util.Map;

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
        Map<Operation, Long> calls = new EnumMap<>(Operation.class);
        Map<Operation, Long> bytes = new EnumMap<>(Operation.class);
        for (Operation operation : Operation.values()) {
            calls.put(operation, counters.calls(operation));
            bytes.put(operation, counters.payloadBytes(operation));
        }
        return new Statistics(
                Map.copyOf(calls),
                Map.copyOf(bytes),
                counters.sharedMemoryBytes(),
                counters.netBytes());
    }
}
