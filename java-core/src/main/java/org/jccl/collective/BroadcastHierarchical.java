package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Ref;
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
 * chunks: (H - 1 + m) &alpha; + s &beta; (1 + H/m); a node sends s bytes. Limits: none. Nothing is
 * reduced.
 */
final class BroadcastHierarchical extends Algorithm {
    BroadcastHierarchical() {
        super(Operation.BROADCAST);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nodes().deep() && BroadcastChunked.fitsInRing(shape);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Call call = new Call(shape, rank, steps);
        for (int c = 0; c < call.chunks.parts(); c++) {
            call.chunk(c);
        }
        return call.chunks.parts();
    }

    private static final class Call {
        private final Shape shape;
        private final int rank;
        private final ScheduleBuilder steps;
        private final Slices chunks;
        private final Staging ring;

        /** Who has the data before the own rank; the root itself. */
        private final int source;

        /** Who reads what the own rank has; ascending. */
        private final int[] readers;

        Call(Shape shape, int rank, ScheduleBuilder steps) {
            this.shape = shape;
            this.rank = rank;
            this.steps = steps;
            this.chunks = BroadcastChunked.chunks(shape);
            this.ring = Staging.ring(shape.limits());
            Nodes nodes = shape.nodes();
            Mates mates = new Mates(shape, rank);
            int head = mates.agent(shape.root());
            int count = nodes.count();
            int first = nodes.of(shape.root());
            int place = Math.floorMod(nodes.of(rank) - first, count);
            if (rank != head) {
                source = head;
                readers = new int[0];
                return;
            }
            source = place == 0 ? rank : head(nodes, first + place - 1);
            IntStream next =
                    place == count - 1
                            ? IntStream.of()
                            : IntStream.of(head(nodes, first + place + 1));
            readers = IntStream.concat(IntStream.of(mates.others()), next).sorted().toArray();
        }

        private int head(Nodes nodes, int node) {
            return nodes.agent(node % nodes.count(), shape.root());
        }

        void chunk(int chunk) {
            long at = chunks.start(chunk);
            long length = chunks.length(chunk);
            Ref data = rank == source ? steps.in(at) : steps.out(at);
            if (rank != source) {
                steps.await(source, Flags.CONTRIBUTED, chunk + 1);
                steps.copy(data, ring.of(source, chunk), length);
                if (chunk + ring.slots() < chunks.parts()) {
                    steps.signal(Flags.TAKEN, chunk + 1, source);
                }
            }
            if (chunk >= ring.slots()) {
                for (int q : readers) {
                    steps.await(q, Flags.TAKEN, chunk - ring.slots() + 1);
                }
            }
            steps.put(data, ring.of(rank, chunk), length, readers);
            steps.signal(Flags.CONTRIBUTED, chunk + 1, readers);
            if (rank == source && !shape.inPlace()) {
                steps.copy(steps.out(at), data, length);
            }
        }
    }
}
