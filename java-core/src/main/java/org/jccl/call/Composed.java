package org.jccl.call;

import org.jccl.type.Operation;

import java.util.List;
import java.util.stream.Stream;

/**
 * What an operation does besides its plan when its turn has come.
 *
 * @param before copies made when it begins, such as that of an input with gaps
 * @param transfers sends and receives that it consists of, for AlltoAll, Gather and Scatter
 * @param after copies made when all else has succeeded, before that shows
 */
public record Composed(List<StridedCopy> before, List<Call> transfers, List<StridedCopy> after) {
    /** Makes the copies that come first. */
    public void begin() {
        before.forEach(StridedCopy::run);
    }

    /** Whether it receives anything from a rank. */
    public boolean receivesFrom(int rank) {
        return all(Operation.RECV).anyMatch(transfer -> transfer.peer() == rank);
    }

    /** The bytes of all sends, or of all receives if these are more. */
    public long bytes() {
        long sent = all(Operation.SEND).mapToLong(Call::partBytes).sum();
        return Math.max(sent, all(Operation.RECV).mapToLong(Call::partBytes).sum());
    }

    private Stream<Call> all(Operation way) {
        return transfers.stream().filter(transfer -> transfer.operation() == way);
    }

    /** Makes the copies that come last. */
    public void end() {
        after.forEach(StridedCopy::run);
    }
}
