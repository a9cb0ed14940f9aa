package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.stream.IntStream;

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
        Link link = new Link(shape, rank, steps, Chunks.of(shape));
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

    /** A rank's place in the chain. */
    private record Link(Shape shape, int rank, ScheduleBuilder steps, Chunks chunks) {

        /**
         * Writes the steps.
         *
         * @param source the rank from which this one takes the chunks; the root itself
         * @param readers the ranks that read them from this one, ascending
         * @return the sequence numbers of the call
         */
        int write(int source, int[] readers) {
            for (int c = 0; c < chunks.count(); c++) {
                if (rank != source) {
                    take(c, source);
                }
                give(c, readers);
            }
            return chunks.count();
        }

        private void take(int chunk, int source) {
            steps.await(source, Flags.CONTRIBUTED, chunk + 1);
            Ref result = steps.out(chunks.start(chunk));
            steps.copy(result, chunks.staged(source, chunk, rank), chunks.length(chunk));
            chunks.taken(steps, chunk, source);
        }

        private void give(int chunk, int[] readers) {
            chunks.awaitRoom(steps, chunk, readers);
            long at = chunks.start(chunk);
            long length = chunks.length(chunk);
            Ref src = rank == shape.root() ? steps.in(at) : steps.out(at);
            steps.put(src, chunks.staged(rank, chunk, rank), length, readers);
            steps.signal(Flags.CONTRIBUTED, chunk + 1, readers);
            steps.copyOwnPart(shape, at, length);
        }
    }
}
