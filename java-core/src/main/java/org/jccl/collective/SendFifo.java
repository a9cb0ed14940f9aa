package org.jccl.collective;

import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

/**
 * One message through the FIFO to the peer, also when it is empty: a send of 0 elements is real.
 *
 * <p>Source: NCCL's send. Cost: &alpha; + 2 s &beta;. Limits: the peer is another rank.
 */
final class SendFifo extends Algorithm {
    SendFifo() {
        super(Operation.SEND);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nRanks() > 1;
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        steps.add(new Step.FifoSend(shape.root(), steps.in(0), shape.bytes()));
        return 0;
    }
}
