package org.jccl.collective;

import org.jccl.schedule.Schedule;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/** A way to do one operation. Pure: the same shape and rank make the same schedule. */
public abstract class Algorithm {
    private final Operation operation;

    Algorithm(Operation operation) {
        this.operation = operation;
    }

    /** The operation that this does. */
    public final Operation operation() {
        return operation;
    }

    /** The name in logs: that of the class. */
    public final String name() {
        return getClass().getSimpleName();
    }

    /** The order in which contributions are folded, where the operation reduces; tests prove it. */
    public Schedule.Order order() {
        return Schedule.Order.RANKS;
    }

    /**
     * Whether others read a rank's input while it writes its output, so that a rank whose buffers
     * are in place has to give them a copy of its input.
     */
    public boolean readsWhileWriting() {
        return false;
    }

    /** Whether {@link #schedule} can be called for this call. */
    public final boolean supports(Shape shape) {
        return shape.operation() == operation
                && (isTrivial(shape) || (fits(shape) && !(shape.inPlace() && readsWhileWriting())));
    }

    /**
     * What {@code rank} does in the call.
     *
     * @throws IllegalArgumentException if the call is not supported
     */
    public final Schedule schedule(Shape shape, int rank) {
        if (!supports(shape)) {
            throw new IllegalArgumentException(name() + " does not support " + shape);
        }
        ScheduleBuilder builder = new ScheduleBuilder(shape, rank);
        if (!isTrivial(shape)) {
            return builder.build(order(), write(shape, rank, builder));
        }
        builder.copyOwnPart(0, shape.bytes());
        return builder.build(order(), 0);
    }

    /** Whether the areas are large enough; asked for calls of two ranks or more, not empty. */
    abstract boolean fits(Shape shape);

    /**
     * Writes the steps of a call of two ranks or more that is not empty.
     *
     * @return the sequence numbers of the call
     */
    abstract int write(Shape shape, int rank, ScheduleBuilder steps);

    /** An empty call, or a single rank: no peer is involved and every operation is a copy. */
    private boolean isTrivial(Shape shape) {
        return shape.count() == 0 || shape.nRanks() == 1;
    }
}
