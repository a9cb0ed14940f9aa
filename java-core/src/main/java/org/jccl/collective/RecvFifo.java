package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * The next message of the FIFO from the peer, also when it is empty.
 *
 * <p>Source: NCCL's receive. Cost: &alpha; + 2 s &beta;. Limits: the peer is another rank.
 */
final class RecvFifo extends Algorithm {
    RecvFifo() {
        super(Operation.RECV);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nRanks() > 1;
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        steps.add(new Step.FifoRecv(shape.root(), steps.out(0), shape.bytes()));
        return 0;
    }
}
