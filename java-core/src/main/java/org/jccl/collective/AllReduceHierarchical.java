package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

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
        SlicedChunks chunks = new SlicedChunks(shape);
        Mates mates = new Mates(shape, rank);
        Pulls pulls = pulls(shape) ? new Pulls(shape, rank, steps) : null;
        Call call = new Call(rank, steps, chunks, shape.nodes(), mates, pulls);
        Lookahead.interleave(
                chunks.count(), call::contribute, call::foldNode, call::fold, call::gather);
        if (pulls != null) {
            call.end();
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
     * @param pulls null where the ranks of a node exchange through the ring
     */
    private record Call(
            int rank,
            ScheduleBuilder steps,
            SlicedChunks chunks,
            Nodes nodes,
            Mates mates,
            @Nullable Pulls pulls) {

        /** Those of {@code ranks} that own something of a chunk. */
        private int[] owners(int chunk, int[] ranks) {
            return IntStream.of(ranks).filter(q -> chunks.length(chunk, q) > 0).toArray();
        }

        /** Whether a rank of the own node deals with anything of a chunk. */
        private boolean deals(int chunk, int mate) {
            return chunks.length(chunk, mates.owners(mate)[0]) > 0;
        }

        void contribute(int chunk) {
            if (pulls == null) {
                put(chunk);
            }
            if (pulls == null || chunk == 0) {
                int[] readers =
                        IntStream.of(mates.others()).filter(mate -> deals(chunk, mate)).toArray();
                steps.signal(Flags.CONTRIBUTED, chunk + 1, readers);
            }
        }

        private void put(int chunk) {
            for (int q = 0; q < nodes.nRanks(); q++) {
                int agent = mates.agent(q);
                if (agent != rank) {
                    Ref src = steps.in(chunks.at(chunk, q));
                    Ref dst = chunks.staged(rank, chunk, q);
                    steps.put(src, dst, chunks.length(chunk, q), agent);
                }
            }
        }

        /** Nobody reads the buffers any more when it is over. */
        void end() {
            steps.signal(Flags.ENDED, 1, mates.others());
            steps.awaitAll(mates.others(), Flags.ENDED, 1);
        }

        void foldNode(int chunk) {
            int[] owners = owners(chunk, mates.owners(rank));
            if (owners.length == 0) {
                return;
            }
            steps.awaitAll(mates.others(), Flags.CONTRIBUTED, pulls == null ? chunk + 1 : 1);
            for (int owner : owners) {
                long length = chunks.length(chunk, owner);
                foldNode(chunk, owner, length);
                if (owner != rank) {
                    Ref dst = chunks.staged(rank, chunk, owner);
                    steps.put(nodeSum(chunk, owner), dst, length, owner);
                }
            }
            int[] far = IntStream.of(owners).filter(q -> q != rank).toArray();
            steps.signal(Flags.PART_REDUCED, chunk + 1, far);
        }

        /** Where the sum of the own node is: the input, if there is nobody else. */
        private Ref nodeSum(int chunk, int owner) {
            long at = chunks.at(chunk, owner);
            return mates.none() ? steps.in(at) : steps.out(at);
        }

        private void foldNode(int chunk, int owner, long length) {
            long at = chunks.at(chunk, owner);
            if (mates.none()) {
                return;
            }
            if (pulls != null) {
                pulls.fold(mates.all(), at, at, length);
            } else {
                List<Ref> sources =
                        steps.contributions(
                                mates.all(), steps.in(at), q -> chunks.staged(q, chunk, owner));
                steps.add(new Step.Fold(steps.out(at), sources, length, false));
            }
        }

        void fold(int chunk) {
            long length = chunks.length(chunk, rank);
            if (length == 0) {
                return;
            }
            Ref own = nodeSum(chunk, rank);
            List<Ref> sources =
                    steps.contributions(
                            mates.ownAgents(), own, agent -> chunks.staged(agent, chunk, rank));
            int[] far = mates.farAgents();
            steps.awaitAll(far, Flags.PART_REDUCED, chunk + 1);
            Ref result = steps.out(chunks.at(chunk, rank));
            steps.fold(result, sources, length);
            int[] readers = pulls == null ? mates.othersAndFarAgents() : far;
            steps.put(result, chunks.staged(rank, chunk, rank), length, readers);
            steps.signal(Flags.REDUCED, chunk + 1, far);
        }

        void gather(int chunk) {
            relay(chunk);
            for (int mate : mates.others()) {
                for (int owner : owners(chunk, mates.owners(mate))) {
                    steps.await(mate, Flags.RELAYED, chunk + 1);
                    long at = chunks.at(chunk, owner);
                    Ref staged = chunks.staged(mate, chunk, owner);
                    Ref src = pulls == null ? staged : steps.out(mate, at);
                    steps.copy(steps.out(at), src, chunks.length(chunk, owner));
                }
            }
        }

        private void relay(int chunk) {
            for (int owner : owners(chunk, mates.owners(rank))) {
                if (owner != rank) {
                    long length = chunks.length(chunk, owner);
                    Ref result = steps.out(chunks.at(chunk, owner));
                    steps.await(owner, Flags.REDUCED, chunk + 1);
                    steps.copy(result, chunks.staged(owner, chunk, owner), length);
                    if (pulls == null) {
                        Ref place = chunks.staged(rank, chunk, owner);
                        steps.put(result, place, length, mates.others());
                    }
                }
            }
            if (deals(chunk, rank)) {
                steps.signal(Flags.RELAYED, chunk + 1, mates.others());
            }
        }
    }
}
