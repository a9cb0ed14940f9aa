package org.jccl.call;

import org.jccl.type.Operation;

import java.util.List;

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
        for (Call transfer : transfers) {
            if (transfer.operation() == Operation.RECV && transfer.peer() == rank) {
                return true;
            }
        }
        return false;
    }

    /** Makes the copies that come last. */
    public void end() {
        after.forEach(StridedCopy::run);
    }
}
