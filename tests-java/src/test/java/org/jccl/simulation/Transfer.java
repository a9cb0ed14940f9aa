package org.jccl.simulation;

import org.jccl.schedule.Limits;
import org.jccl.schedule.Nodes;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/** A send of {@code count} elements and the receive that matches it, also when it is empty. */
record Transfer(int from, int to, long count) {
    /** The call. {@link Lane} knows its one step; the schedules say who takes part. */
    Call call(int number, int nRanks, int elementBytes, Limits limits) {
        Nodes nodes = Nodes.one(nRanks);
        Shape send = new Shape(Operation.SEND, nodes, to, count, elementBytes, false, limits);
        List<@Nullable Schedule> schedules = new ArrayList<>();
        for (int r = 0; r < nRanks; r++) {
            boolean takesPart = r == from || r == to;
            schedules.add(takesPart ? nothing(r, nRanks) : null);
        }
        return new Call(number, "send from " + from + " to " + to, send, from, schedules);
    }

    private static Schedule nothing(int rank, int nRanks) {
        return new Schedule(rank, nRanks, List.of(), Schedule.Order.RANKS, 0);
    }
}
