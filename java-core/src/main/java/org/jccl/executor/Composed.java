package org.jccl.executor;

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

    void end() {
        after.forEach(StridedCopy::run);
    }
}
