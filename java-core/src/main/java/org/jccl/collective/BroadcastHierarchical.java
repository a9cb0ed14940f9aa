package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

/**
 * {@link CopyChunked} for ranks on several nodes: the nodes stand in a chain that begins at the
 * root's, and one rank of each takes what the node before sends, makes it readable on its node and
 * sends it on. Readers say that they have copied a chunk before its slot is used again.
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
        Chunks chunks = Chunks.of(shape);
        int place = place(shape, rank);
        int head = head(shape, place);
        int source = rank == head ? head(shape, place - 1) : head;
        int[] readers = steps.others(q -> rank == head && reads(shape, q, place));
        for (int c = 0; c < chunks.count(); c++) {
            if (rank != shape.root()) {
                chunks.take(steps, c, source);
            }
            chunks.give(steps, c, readers);
        }
        return chunks.count();
    }

    /** Whether a rank reads from the first one at this place: a mate of it, or the next one. */
    private static boolean reads(Shape shape, int rank, int place) {
        int own = place(shape, rank);
        return own == place || (own == place + 1 && rank == head(shape, own));
    }

    /** The place of a rank's node in the chain. */
    private static int place(Shape shape, int rank) {
        Nodes nodes = shape.nodes();
        return Math.floorMod(nodes.of(rank) - nodes.of(shape.root()), nodes.count());
    }

    /** The rank of the node at this place that takes what the node before sends. */
    private static int head(Shape shape, int place) {
        Nodes nodes = shape.nodes();
        int node = Math.floorMod(nodes.of(shape.root()) + place, nodes.count());
        return nodes.agent(node, shape.root());
    }
}
