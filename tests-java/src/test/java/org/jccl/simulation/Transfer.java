package org.jccl.simulation;

import org.jccl.collective.SendRecv;
import org.jccl.schedule.Bounds;
import org.jccl.schedule.Limits;
import org.jccl.schedule.Nodes;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;

/**
 * A send of {@code count} elements and the receive that matches it, also when it is empty.
 *
 * @param inside number of the collective that it is a part of, else 0
 */
record Transfer(int from, int to, long count, int inside) {
    Transfer(int from, int to, long count) {
        this(from, to, count, 0);
    }

    /** The call with the schedules that ship. */
    Call call(int number, int nRanks, int elementBytes, Limits limits) {
        Schedule send = SendRecv.schedule(SendRecv.SENDER, limits);
        Schedule receive = SendRecv.schedule(SendRecv.RECEIVER, limits);
        Shape pair = shape(2, elementBytes, limits);
        Bounds.require(send, pair);
        Bounds.require(receive, pair);
        return call(number, shape(nRanks, elementBytes, limits), send, receive);
    }

    /** The call with these schedules. */
    Call call(int number, Shape shape, Schedule send, Schedule receive) {
        List<@Nullable Schedule> schedules = new ArrayList<>();
        for (int r = 0; r < shape.nRanks(); r++) {
            schedules.add(r == from ? send : r == to ? receive : null);
        }
        String name = "send of " + count + " from " + from + " to " + to;
        long header = Terms.header(count, shape.elementBytes(), inside);
        return new Call(number, name, shape, from, header, schedules);
    }

    /** The shape of the sender's call. */
    Shape shape(int nRanks, int elementBytes, Limits limits) {
        Nodes nodes = Nodes.one(nRanks);
        return new Shape(Operation.SEND, nodes, to, count, elementBytes, false, limits);
    }
}
