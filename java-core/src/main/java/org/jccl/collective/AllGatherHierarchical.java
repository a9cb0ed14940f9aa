package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Ref;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

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
        int most = 0;
        for (int node = 0; node < nodes.count(); node++) {
            int size = nodes.ranks(node).length;
            int relayed = size == 1 ? 0 : (nodes.nRanks() - size + size - 1) / size;
            most = Math.max(most, relayed);
        }
        return shape.limits().ringSlotBytes() / (1 + most);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Slices cut = Slices.atMost(shape.bytes(), partBytes(shape));
        Chunks chunks = new Chunks(shape, cut, Staging.ring(shape.limits()), cut.stride());
        Call call = new Call(shape, rank, steps, chunks, new Mates(shape, rank));
        Lookahead.order(chunks.count(), shape.limits(), call::contribute, call::gather);
        return chunks.count();
    }

    /** In a slot's first place is the own chunk. */
    private record Call(Shape shape, int rank, ScheduleBuilder steps, Chunks chunks, Mates mates) {

        private Ref out(int chunk, int owner) {
            return steps.out(owner * shape.bytes() + chunks.start(chunk));
        }

        void contribute(int chunk) {
            Ref src = steps.in(chunks.start(chunk));
            int[] readers = mates.othersAndFarAgents();
            steps.put(src, chunks.staged(rank, chunk, 0), chunks.length(chunk), readers);
            steps.signal(Flags.CONTRIBUTED, chunk + 1, readers);
            steps.copyOwnPart(chunks.start(chunk), chunks.length(chunk));
        }

        void gather(int chunk) {
            relay(chunk);
            for (int mate : mates.others()) {
                steps.await(mate, Flags.CONTRIBUTED, chunk + 1);
                steps.copy(out(chunk, mate), chunks.staged(mate, chunk, 0), chunks.length(chunk));
                int place = 0;
                for (int owner : mates.farOwners(mate)) {
                    Ref src = chunks.staged(mate, chunk, ++place);
                    steps.await(mate, Flags.RELAYED, chunk + 1);
                    steps.copy(out(chunk, owner), src, chunks.length(chunk));
                }
            }
        }

        private void relay(int chunk) {
            int place = 0;
            for (int owner : mates.farOwners(rank)) {
                Ref result = out(chunk, owner);
                Ref dst = chunks.staged(rank, chunk, ++place);
                steps.await(owner, Flags.CONTRIBUTED, chunk + 1);
                steps.copy(result, chunks.staged(owner, chunk, 0), chunks.length(chunk));
                steps.put(result, dst, chunks.length(chunk), mates.others());
            }
            if (place > 0) {
                steps.signal(Flags.RELAYED, chunk + 1, mates.others());
            }
        }
    }
}
