package org.jccl.simulation;

import org.jccl.collective.Algorithm;
import org.jccl.schedule.Bounds;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/**
 * One call: its schedules by rank (null for a rank that takes no part in a transfer), and what
 * every rank's buffers hold before and after it.
 *
 * @param number of the simulation's calls, from 1; inputs of different calls are different terms
 * @param name for messages
 * @param shape of the call, for a transfer that of its sender
 * @param from sender of a transfer, else -1
 * @param header what its chunks say of a transfer
 */
record Call(
        int number,
        String name,
        Shape shape,
        int from,
        long header,
        List<@Nullable Schedule> schedules) {

    /** A call of all ranks. */
    static Call collective(int number, Algorithm algorithm, Shape shape) {
        List<@Nullable Schedule> schedules = new ArrayList<>();
        for (int r = 0; r < shape.nRanks(); r++) {
            Schedule schedule = algorithm.schedule(shape, r);
            Bounds.require(schedule, shape);
            schedules.add(schedule);
        }
        return new Call(number, algorithm.name() + " " + shape, shape, -1, 0, schedules);
    }

    /** The call as {@code rank} alone takes part in it. */
    Call only(int rank) {
        List<@Nullable Schedule> one = new ArrayList<>(schedules);
        for (int r = 0; r < one.size(); r++) {
            one.set(r, r == rank ? one.get(r) : null);
        }
        return new Call(number, name, shape, from, header, one);
    }

    boolean isCollective() {
        return from < 0;
    }

    /** A rank's buffers before the call. */
    Buffers buffers(int rank) {
        Buffers buffers = new Buffers(shape, rank, isCollective() ? -1 : from);
        for (int i = 0; i < buffers.inCells(); i++) {
            buffers.in(i, Terms.input(number, rank, i));
        }
        return buffers;
    }

    /** The value of element {@code i} of {@code rank}'s output that is right after the call. */
    long expected(Terms terms, int rank, long i) {
        return switch (shape.operation()) {
            case ALL_REDUCE, REDUCE -> folded(terms, i);
            case REDUCE_SCATTER -> folded(terms, rank * shape.count() + i);
            case ALL_GATHER, GATHER -> part(i, i % shape.count());
            case ALL_TO_ALL -> part(i, rank * shape.count() + i % shape.count());
            case BROADCAST -> Terms.input(number, shape.root(), i);
            case SCATTER -> Terms.input(number, shape.root(), rank * shape.count() + i);
            case SEND, RECV -> Terms.input(number, from, i);
        };
    }

    /** Element {@code index} of the rank whose part of an output has element {@code i}. */
    private long part(long i, long index) {
        return Terms.input(number, (int) (i / shape.count()), index);
    }

    /** One rank alone does not fold, it copies. */
    private long folded(Terms terms, long i) {
        if (shape.nRanks() == 1) {
            return Terms.input(number, 0, i);
        }
        return switch (order()) {
            case RANKS -> Terms.folded(number, i);
            case NODES -> terms.foldedByNode(number, shape.nodes(), i);
        };
    }

    private Schedule.Order order() {
        for (Schedule schedule : schedules) {
            if (schedule != null) {
                return schedule.order();
            }
        }
        throw new IllegalStateException("nobody takes part in " + name);
    }

    @Override
    public String toString() {
        return "call " + number + " (" + name + ")";
    }
}
