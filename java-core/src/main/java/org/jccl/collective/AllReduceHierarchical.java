package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;

import java.util.List;
import java.util.stream.IntStream;

/**
 * {@link FoldSliced} for ranks on several nodes: what a node says to another, one of its ranks says
 * for all of them. Every rank owns a slice of each chunk, and has an agent for it on every other
 * node. The agent folds its node's contributions to the slice and sends the sum to the owner, which
 * folds the sums of all nodes and sends the result to the agents; these make it readable on their
 * nodes. The four stages of four chunks are interleaved.
 *
 * <p>A slot of the ring holds the contributions to the slices that other ranks deal with; the
 * places of the slices that the rank deals with itself hold first sums, then results. Four slots
 * need no acknowledgement: a rank that contributes to chunk c+4 has gathered chunk c, hence
 * everybody has folded what it contributed to c. A rank that folds a sum or a result of chunk c+4
 * has heard that its whole node contributes to it, and so has gathered chunk c.
 *
 * <p>Where ranks of a node read each other's buffers they do so instead of contributing and
 * gathering through the ring, and end when nobody reads theirs any more. The ring then serves other
 * nodes alone: a rank that sends a sum of chunk c+4 has relayed the result of chunk c before, and
 * one that sends a result of it has had that sum.
 *
 * <p>Source: the hierarchical all-reduce of MPI libraries (reduce-scatter on the node, all-reduce
 * of slices between nodes, all-gather on the node), pipelined. Cost, with H nodes of L ranks: 4
 * &alpha; + s (2 &beta; + &gamma;) on the node; a node sends 2 s (1 - 1/H) bytes. Limits: four
 * slots. Order of reduction: the ranks of a node, then the nodes.
 */
final class AllReduceHierarchical extends Algorithm {
    private static final int LEAST_SLOTS = 4;

    AllReduceHierarchical() {
        super(Operation.ALL_REDUCE);
    }

    @Override
    public Schedule.Order order() {
        return Schedule.Order.NODES;
    }

    @Override
    boolean fits(Shape shape) {
        return shape.nodes().deep() && SlicedChunks.possible(shape, LEAST_SLOTS);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        SlicedChunks chunks = SlicedChunks.of(shape);
        Mates mates = Mates.of(shape, rank);
        Pulls pulls = pulls(shape) ? new Pulls(shape, rank, steps) : null;
        NodeFolds folds = new NodeFolds(steps, chunks, mates, pulls);
        Call call = new Call(steps, chunks, mates, folds, pulls == null);
        Lookahead.interleave(
                chunks.count(), call::contribute, call::foldNode, call::fold, call::gather);
        if (pulls != null) {
            // Nobody reads the buffers any more when it is over.
            steps.signal(Flags.ENDED, 1, mates.others());
            steps.awaitAll(mates.others(), Flags.ENDED, 1);
        }
        return chunks.count();
    }

    /** The direct slot is free for it, and large calls are worth a signal more. */
    private static boolean pulls(Shape shape) {
        return shape.nodes().readable()
                && shape.bytes() > shape.limits().directBytes()
                && Pulls.possible(shape);
    }

    /**
     * What a rank does in a call.
     *
     * @param byRing whether the ranks of a node exchange through the ring
     */
    private record Call(
            ScheduleBuilder steps,
            SlicedChunks chunks,
            Mates mates,
            NodeFolds folds,
            boolean byRing) {

        /** The ranks that own something of a chunk with which {@code mate} deals. */
        private List<Integer> owners(int chunk, int mate) {
            return mates.owners(mate).stream().filter(q -> chunks.length(chunk, q) > 0).toList();
        }

        /** The same, but for the mate itself. */
        private int[] farOwners(int chunk, int mate) {
            return owners(chunk, mate).stream().mapToInt(q -> q).filter(q -> q != mate).toArray();
        }

        /** Whether a rank of the own node deals with anything of a chunk. */
        private boolean deals(int chunk, int mate) {
            return chunks.length(chunk, mates.owners(mate).getFirst()) > 0;
        }

        void contribute(int chunk) {
            if (byRing) {
                folds.contribute(chunk);
            }
            if (byRing || chunk == 0) {
                int[] readers =
                        IntStream.of(mates.others()).filter(mate -> deals(chunk, mate)).toArray();
                steps.signal(Flags.CONTRIBUTED, chunk + 1, readers);
            }
        }

        void foldNode(int chunk) {
            int rank = steps.rank();
            if (!deals(chunk, rank)) {
                return;
            }
            steps.awaitAll(mates.others(), Flags.CONTRIBUTED, byRing ? chunk + 1 : 1);
            for (int owner : owners(chunk, rank)) {
                folds.foldNode(chunk, owner, steps.out(chunks.at(chunk, owner)));
            }
            steps.signal(Flags.PART_REDUCED, chunk + 1, farOwners(chunk, rank));
        }

        void fold(int chunk) {
            int rank = steps.rank();
            long length = chunks.length(chunk, rank);
            if (length == 0) {
                return;
            }
            int[] far = mates.farAgents();
            steps.awaitAll(far, Flags.PART_REDUCED, chunk + 1);
            Ref result = steps.out(chunks.at(chunk, rank));
            folds.fold(chunk, result);
            int[] readers = byRing ? mates.othersAndFarAgents() : far;
            steps.put(result, chunks.staged(rank, chunk, rank), length, readers);
            steps.signal(Flags.REDUCED, chunk + 1, far);
        }

        void gather(int chunk) {
            relay(chunk);
            for (int mate : mates.others()) {
                for (int owner : owners(chunk, mate)) {
                    steps.await(mate, Flags.RELAYED, chunk + 1);
                    long at = chunks.at(chunk, owner);
                    Ref staged = chunks.staged(mate, chunk, owner);
                    Ref src = byRing ? staged : steps.out(mate, at);
                    steps.copy(steps.out(at), src, chunks.length(chunk, owner));
                }
            }
        }

        private void relay(int chunk) {
            int rank = steps.rank();
            for (int owner : farOwners(chunk, rank)) {
                long length = chunks.length(chunk, owner);
                Ref result = steps.out(chunks.at(chunk, owner));
                steps.await(owner, Flags.REDUCED, chunk + 1);
                steps.copy(result, chunks.staged(owner, chunk, owner), length);
                if (byRing) {
                    steps.put(result, chunks.staged(rank, chunk, owner), length, mates.others());
                }
            }
            if (deals(chunk, rank)) {
                steps.signal(Flags.RELAYED, chunk + 1, mates.others());
            }
        }
    }
}
