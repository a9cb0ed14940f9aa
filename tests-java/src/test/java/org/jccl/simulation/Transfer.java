package org.jccl.simulation;

import org.jccl.collective.Algorithms;
import org.jccl.schedule.Bounds;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Nodes;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/** A send of {@code count} elements and the receive that matches it. */
record Transfer(int from, int to, long count) {
    Call call(int number, int nRanks, int elementBytes, Limits limits) {
        Nodes nodes = Nodes.one(nRanks);
        Shape send = new Shape(Operation.SEND, nodes, to, count, elementBytes, false, limits);
        Shape recv = new Shape(Operation.RECV, nodes, from, count, elementBytes, false, limits);
        List<@Nullable Schedule> schedules = new ArrayList<>();
        for (int r = 0; r < nRanks; r++) {
            schedules.add(r == from ? schedule(send, r) : r == to ? schedule(recv, r) : null);
        }
        return new Call(number, "send from " + from + " to " + to, send, from, schedules);
    }

    private static Schedule schedule(Shape shape, int rank) {
        Schedule schedule = Algorithms.choose(shape).schedule(shape, rank);
        Bounds.require(schedule, shape);
        return schedule;
    }
}
