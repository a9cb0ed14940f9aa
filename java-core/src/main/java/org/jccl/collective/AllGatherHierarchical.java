package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.stream.IntStream;

/**
 * {@link CopyChunked} for ranks on several nodes: a rank sends its input to one agent on every
 * other node, which makes it readable there.
 *
 * <p>A slot of the ring holds a chunk of the own input and, behind it, the same chunk of each rank
 * whose agent the own one is. The ring needs no acknowledgement ({@link Lookahead}).
 *
 * <p>Source: the hierarchical all-gather of MPI libraries, with as many leaders as a node has
 * ranks, chunked. Cost, s a rank's bytes, of n ranks on H nodes: 2 &alpha; + (n+1) s &beta; on the
 * node; a node sends n s (1 - 1/H) bytes if all have as many ranks. Limits: a slot holds 64 bytes
 * for each rank that it has a chunk of. Nothing is reduced.
 */
final class AllGatherHierarchical extends Algorithm {
    AllGatherHierarchical() {
        super(Operation.ALL_GATHER);
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nodes().deep()
                && Lookahead.possible(shape.limits())
                && partBytes(shape) >= Slices.LINE_BYTES;
    }

    /**
     * The room in a slot for the chunk of each rank: the own one, and where the rank has mates,
     * those that it is the agent of.
     */
    private static long partBytes(Shape shape) {
        Nodes nodes = shape.nodes();
        IntStream sizes = IntStream.range(0, nodes.count()).map(node -> nodes.ranks(node).length);
        int least = sizes.filter(size -> size > 1).min().orElseThrow();
        int most = Math.ceilDiv(nodes.nRanks() - least, least);
        return shape.limits().ringSlotBytes() / (1 + most);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Chunks chunks = Chunks.inRing(shape, partBytes(shape));
        Mates mates = Mates.of(shape, rank);
        Call call = new Call(shape, steps, chunks, mates);
        Lookahead.order(
                chunks.count(),
                shape.limits(),
                c -> chunks.give(steps, c, mates.othersAndFarAgents()),
                call::gather);
        return chunks.count();
    }

    /** In a slot's first place is the own chunk. */
    private record Call(Shape shape, ScheduleBuilder steps, Chunks chunks, Mates mates) {

        private Ref out(int chunk, int owner) {
            return steps.out(owner * shape.bytes() + chunks.cut().start(chunk));
        }

        void gather(int chunk) {
            relay(chunk);
            for (int mate : mates.others()) {
                chunks.take(steps, chunk, mate);
                int place = 0;
                for (int owner : mates.farOwners(mate)) {
                    Ref src = chunks.staged(mate, chunk, ++place);
                    steps.await(mate, Flags.RELAYED, chunk + 1);
                    steps.copy(out(chunk, owner), src, chunks.cut().length(chunk));
                }
            }
        }

        private void relay(int chunk) {
            int place = 0;
            for (int owner : mates.farOwners(mates.rank())) {
                Ref dst = chunks.staged(mates.rank(), chunk, ++place);
                chunks.take(steps, chunk, owner);
                steps.put(out(chunk, owner), dst, chunks.cut().length(chunk), mates.others());
            }
            if (place > 0) {
                steps.signal(Flags.RELAYED, chunk + 1, mates.others());
            }
        }
    }
}
