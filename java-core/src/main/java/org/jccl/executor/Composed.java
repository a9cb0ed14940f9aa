package org.jccl.executor;

import org.jccl.type.Operation;

import java.util.List;

/**
 * What an operation does in its turn besides its plan.
 *
 * @param before copies that are made when it begins, such as of an input with gaps
 * @param transfers sends and receives that it consists of, for AlltoAll, Gather and Scatter
 * @param after copies that are made when it has succeeded otherwise, before that shows
 */
public record Composed(List<StridedCopy> before, List<Task> transfers, List<StridedCopy> after) {
    void begin() {
        before.forEach(StridedCopy::run);
    }

    boolean receivesFrom(int rank) {
        for (Task transfer : transfers) {
            if (transfer.operation() == Operation.RECV && transfer.peer == rank) {
                return true;
            }
        }
        return false;
    }

    void end() {
        after.forEach(StridedCopy::run);
    }
}
