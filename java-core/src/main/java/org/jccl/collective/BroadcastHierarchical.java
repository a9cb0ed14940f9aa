package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.stream.IntStream;

/**
 * {@link BroadcastChunked} for ranks on several nodes: the nodes stand in a chain that begins at
 * the root's, and one rank of each takes what the node before sends, makes it readable on its node
 * and sends it on. Readers say that they have copied a chunk before its slot is used again.
 *
 * <p>Source: the pipelined chain between nodes, the flat tree within. Cost, with H nodes and m
 * chunks: (H - 1 + m) &alpha; + s &beta; (1 + H/m); a node sends at most s bytes. Limits: none.
 * Nothing is reduced.
 */
final class BroadcastHierarchical extends Algorithm {
    BroadcastHierarchical() {
        super(Operation.BROADCAST);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nodes().deep();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        BroadcastLink link = new BroadcastLink(shape, rank, steps);
        Nodes nodes = shape.nodes();
        int count = nodes.count();
        int first = nodes.of(shape.root());
        int place = Math.floorMod(nodes.of(rank) - first, count);
        int head = head(shape, first + place);
        if (rank != head) {
            return link.write(head, new int[0]);
        }
        int source = place == 0 ? rank : head(shape, first + place - 1);
        IntStream readers = IntStream.of(new Mates(shape, rank).others());
        if (place < count - 1) {
            readers = IntStream.concat(readers, IntStream.of(head(shape, first + place + 1)));
        }
        return link.write(source, readers.sorted().toArray());
    }

    /** The rank of a node that takes what the node before sends. */
    private static int head(Shape shape, int node) {
        return shape.nodes().agent(node % shape.nodes().count(), shape.root());
    }
}
