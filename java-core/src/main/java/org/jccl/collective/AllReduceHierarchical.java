package org.jccl.collective;

import org.jccl.schedule.Nodes;
import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.type.Operation;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * {@link AllReduceSliced} for ranks on several nodes: what a node says to another, one of its ranks
 * says for all of them. Every rank owns a slice of each chunk, and on every other node an agent
 * deals with it. The agent folds its node's contributions to the slice and sends the sum to the
 * owner, who folds the sums of all nodes and sends the result to the agents; these make it readable
 * on their nodes. The four stages of four chunks are interleaved.
 *
 * <p>A slot of the ring holds the contributions to the slices that others deal with; in the places
 * of those that the rank deals with itself, first sums, then results. Four slots need no
 * acknowledgement: who contributes to chunk c+4 has gathered chunk c, hence everybody has folded
 * what it contributed to c. Who folds a sum or a result of chunk c+4 has heard that its whole node
 * contributes to it, and by that has gathered chunk c.
 *
 * <p>Where ranks of a node read each other's buffers they do so instead of contributing and
 * gathering through the ring, and end when nobody reads theirs any more. The ring then serves other
 * nodes alone: who sends a sum of chunk c+4 has relayed the result of chunk c before, and who sends
 * a result of it has had that sum.
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
        return shape.nodes().deep()
                && (chunks(shape).parts() == 1 || shape.limits().ringSlots() >= LEAST_SLOTS);
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        Call call = new Call(shape, rank, steps);
        int chunks = chunks(shape).parts();
        Stages.interleave(chunks, call::contribute, call::foldNode, call::fold, call::gather);
        return call.end(chunks);
    }

    private static Staging staging(Shape shape) {
        return Staging.oneChunk(shape.bytes(), shape.limits());
    }

    private static Slices chunks(Shape shape) {
        return Slices.atMost(shape.bytes(), staging(shape).slotBytes());
    }

    private static final class Call {
        private final int rank;
        private final ScheduleBuilder steps;
        private final Slices chunks;
        private final Staging staging;
        private final Slices places;
        private final Nodes nodes;
        private final Mates mates;

        /** Null where the ranks of a node exchange through the ring. */
        private final @Nullable Pulls pulls;

        Call(Shape shape, int rank, ScheduleBuilder steps) {
            this.rank = rank;
            this.steps = steps;
            this.chunks = AllReduceHierarchical.chunks(shape);
            this.staging = AllReduceHierarchical.staging(shape);
            this.places = Slices.of(chunks.stride(), shape.nRanks());
            this.nodes = shape.nodes();
            this.mates = new Mates(shape, rank);
            this.pulls = pulls(shape) ? new Pulls(shape.limits(), rank, steps) : null;
        }

        /** The direct slot is free for it, and large calls are worth a signal more. */
        private static boolean pulls(Shape shape) {
            return shape.nodes().readable()
                    && shape.bytes() > shape.limits().directBytes()
                    && Pulls.possible(shape.limits(), shape.nRanks());
        }

        private Slices slices(int chunk) {
            return Slices.of(chunks.length(chunk), nodes.nRanks());
        }

        /** Where in the message a rank's slice of a chunk begins. */
        private long at(int chunk, int owner) {
            return chunks.start(chunk) + slices(chunk).start(owner);
        }

        /** Where rank {@code owner}'s slice of a chunk lies in the slot of rank {@code writer}. */
        private Ref staged(int writer, int chunk, int owner) {
            return staging.of(writer, chunk).plus(places.start(owner));
        }

        /** Those of these ranks that own something of a chunk. */
        private int[] owners(int chunk, int[] ranks) {
            Slices slices = slices(chunk);
            return IntStream.of(ranks).filter(q -> slices.length(q) > 0).toArray();
        }

        /** Whether a rank of the own node deals with anything of a chunk. */
        private boolean deals(int chunk, int mate) {
            return slices(chunk).length(mates.owners(mate)[0]) > 0;
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
            Slices slices = slices(chunk);
            for (int q = 0; q < nodes.nRanks(); q++) {
                int agent = mates.agent(q);
                if (agent != rank) {
                    Ref src = steps.in(at(chunk, q));
                    steps.put(src, staged(rank, chunk, q), slices.length(q), agent);
                }
            }
        }

        /** Nobody reads the buffers any more when it is over; the sequence numbers of the call. */
        int end(int chunks) {
            if (pulls == null) {
                return chunks;
            }
            steps.signal(Flags.ENDED, 1, mates.others());
            for (int mate : mates.others()) {
                steps.await(mate, Flags.ENDED, 1);
            }
            return chunks;
        }

        void foldNode(int chunk) {
            int[] owners = owners(chunk, mates.owners(rank));
            if (owners.length == 0) {
                return;
            }
            for (int q : mates.others()) {
                steps.await(q, Flags.CONTRIBUTED, pulls == null ? chunk + 1 : 1);
            }
            Slices slices = slices(chunk);
            for (int owner : owners) {
                foldNode(chunk, owner, slices.length(owner));
                if (owner != rank) {
                    Ref sum = nodeSum(chunk, owner);
                    steps.put(sum, staged(rank, chunk, owner), slices.length(owner), owner);
                }
            }
            int[] far = IntStream.of(owners).filter(q -> q != rank).toArray();
            steps.signal(Flags.PART_REDUCED, chunk + 1, far);
        }

        /** Where the sum of the own node is: the input, if there is nobody else. */
        private Ref nodeSum(int chunk, int owner) {
            long at = at(chunk, owner);
            return mates.none() ? steps.in(at) : steps.out(at);
        }

        private void foldNode(int chunk, int owner, long length) {
            long at = at(chunk, owner);
            if (pulls != null && !mates.none()) {
                pulls.fold(mates.all(), at, at, length, false);
                return;
            }
            List<Ref> sources = new ArrayList<>();
            for (int q : mates.all()) {
                sources.add(q == rank ? steps.in(at) : staged(q, chunk, owner));
            }
            if (sources.size() > 1) {
                steps.foldPart(steps.out(at), sources, length);
            }
        }

        void fold(int chunk) {
            long length = slices(chunk).length(rank);
            if (length == 0) {
                return;
            }
            List<Ref> sources = new ArrayList<>();
            for (int node = 0; node < nodes.count(); node++) {
                int agent = nodes.agent(node, rank);
                sources.add(agent == rank ? nodeSum(chunk, rank) : staged(agent, chunk, rank));
            }
            int[] far = mates.farAgents();
            for (int q : far) {
                steps.await(q, Flags.PART_REDUCED, chunk + 1);
            }
            Ref result = steps.out(at(chunk, rank));
            steps.fold(result, sources, length);
            int[] readers = pulls == null ? mates.othersAndFarAgents() : far;
            steps.put(result, staged(rank, chunk, rank), length, readers);
            steps.signal(Flags.REDUCED, chunk + 1, far);
        }

        void gather(int chunk) {
            relay(chunk);
            Slices slices = slices(chunk);
            for (int mate : mates.others()) {
                for (int owner : owners(chunk, mates.owners(mate))) {
                    steps.await(mate, Flags.RELAYED, chunk + 1);
                    long at = at(chunk, owner);
                    Ref src = pulls == null ? staged(mate, chunk, owner) : steps.out(mate, at);
                    steps.copy(steps.out(at), src, slices.length(owner));
                }
            }
        }

        private void relay(int chunk) {
            Slices slices = slices(chunk);
            for (int owner : owners(chunk, mates.owners(rank))) {
                if (owner != rank) {
                    Ref result = steps.out(at(chunk, owner));
                    Ref place = staged(rank, chunk, owner);
                    steps.await(owner, Flags.REDUCED, chunk + 1);
                    steps.copy(result, staged(owner, chunk, owner), slices.length(owner));
                    if (pulls == null) {
                        steps.put(result, place, slices.length(owner), mates.others());
                    }
                }
            }
            if (deals(chunk, rank)) {
                steps.signal(Flags.RELAYED, chunk + 1, mates.others());
            }
        }
    }
}
