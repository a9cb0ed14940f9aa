package org.jccl.collective;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.ScheduleBuilder;
import org.jccl.schedule.Shape;
import org.jccl.schedule.Step;
import org.jccl.type.Operation;

import java.util.List;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/**
 * {@link FoldSliced} for ranks on several nodes: what a node says to another, one of its ranks says
 * for all of them. Every rank owns a piece of each chunk, of a short all-reduce only some do
 * ({@link SlicedChunks}), and has an agent for it on every other node. The agent folds its node's
 * contributions to the piece and sends the sum to the owner, which folds the sums of all nodes. Of
 * an all-reduce the owner sends the result to the agents; these make it readable on their nodes.
 * Serves all-reduce and reduce-scatter.
 *
 * <p>Of an all-reduce the four stages of four chunks are interleaved. A slot of the ring holds the
 * contributions to the slices that other ranks deal with; the places of the slices that the rank
 * deals with itself hold first sums, then results. Four slots need no acknowledgement: a rank that
 * contributes to chunk c+4 has gathered chunk c, hence everybody has folded what it contributed to
 * c. A rank that folds a sum or a result of chunk c+4 has heard that its whole node contributes to
 * it, and so has gathered chunk c.
 *
 * <p>Of a reduce-scatter a slot holds the same chunk of every part: the own contribution, and in
 * the places of those that the rank deals with itself, the sums. Nobody gathers, and a rank folds
 * the sums of chunk c before it contributes to chunk c+2 and then folds its node's contributions to
 * chunk c+1; so four slots need no acknowledgement. A rank that contributes to chunk c+4 has folded
 * its node's contributions to chunk c+2: its whole node had contributed to that, hence folded those
 * to chunk c. A rank that sends a sum of chunk c+4 has folded chunk c+3, for which the reader's
 * whole node had contributed to it, hence folded chunk c+1.
 *
 * <p>Source: the hierarchical all-reduce of MPI libraries (reduce-scatter on the node, all-reduce
 * of slices between nodes, all-gather on the node), pipelined; of a reduce-scatter, its first half.
 * Cost, with H nodes of L ranks: 4 &alpha; + s (2 &beta; + &gamma;) on the node; a node sends 2 s
 * (1 - 1/H) bytes. Of a reduce-scatter, s the whole input: 2 &alpha; + s (&beta; + &gamma;) on the
 * node; a node sends s (1 - 1/H) bytes. Limits: four slots; of a reduce-scatter 64 bytes in one for
 * each rank, too. Order of reduction: the ranks of a node, then the nodes.
 */
final class FoldHierarchical extends Algorithm {
    private static final int LEAST_SLOTS = 4;

    FoldHierarchical(Operation operation) {
        super(operation);
    }

    @Override
    public Schedule.Order order() {
        return Schedule.Order.NODES;
    }

    @Override
    boolean fits(Shape shape) {
        boolean hasRoom =
                operation() == Operation.ALL_REDUCE
                        ? SlicedChunks.possible(shape, LEAST_SLOTS)
                        : shape.limits().ringSlots() >= LEAST_SLOTS
                                && partBytes(shape) >= Slices.LINE_BYTES;
        return shape.nodes().deep() && hasRoom;
    }

    private static long partBytes(Shape shape) {
        return shape.limits().ringSlotBytes() / shape.nRanks();
    }

    @Override
    int write(Shape shape, int rank, ScheduleBuilder steps) {
        boolean gathers = operation() == Operation.ALL_REDUCE;
        Pieces pieces = gathers ? SlicedChunks.of(shape) : Chunks.inRing(shape, partBytes(shape));
        Mates mates = Mates.of(shape, rank);
        Call call = new Call(shape, steps, pieces, mates);
        IntConsumer foldNode = call::foldNode;
        if (gathers) {
            Lookahead.interleave(
                    pieces.count(), call::contribute, foldNode, call::fold, call::gather);
        } else {
            Lookahead.interleave(pieces.count(), call::contribute, foldNode.andThen(call::fold));
        }
        return pieces.count();
    }

    /** What a rank does in a call. */
    private record Call(Shape shape, ScheduleBuilder steps, Pieces pieces, Mates mates) {

        /** The ranks that own something of a chunk with which {@code mate} deals. */
        private int[] owners(int chunk, int mate) {
            IntStream owners = mates.owners(mate).stream().mapToInt(q -> q);
            return owners.filter(q -> pieces.length(chunk, q) > 0).toArray();
        }

        /** The same, but for the mate itself. */
        private int[] farOwners(int chunk, int mate) {
            return IntStream.of(owners(chunk, mate)).filter(q -> q != mate).toArray();
        }

        private boolean gathers() {
            return shape.operation() == Operation.ALL_REDUCE;
        }

        /** Where the result of a piece goes that the own rank receives. */
        private Ref result(int chunk, int owner) {
            return steps.out(pieces.at(chunk, owner) - shape.inStart(owner));
        }

        /** Where the sum of the own node goes. */
        private Ref sum(int chunk, int owner) {
            int rank = mates.rank();
            return gathers() || owner == rank
                    ? result(chunk, owner)
                    : pieces.staged(rank, chunk, owner);
        }

        /** Where the sum of the own node is: the input, if there is nobody else. */
        private Ref nodeSum(int chunk, int owner) {
            return mates.none() ? steps.in(pieces.at(chunk, owner)) : sum(chunk, owner);
        }

        void contribute(int chunk) {
            for (int q = 0; q < shape.nRanks(); q++) {
                int agent = mates.agent(q);
                if (agent != mates.rank()) {
                    pieces.put(steps, chunk, q, agent);
                }
            }
            IntStream deal =
                    IntStream.of(mates.others()).filter(mate -> owners(chunk, mate).length > 0);
            steps.signal(Flags.CONTRIBUTED, chunk + 1, deal.toArray());
        }

        void foldNode(int chunk) {
            int[] owners = owners(chunk, mates.rank());
            if (owners.length == 0) {
                return;
            }
            steps.awaitAll(mates.others(), Flags.CONTRIBUTED, chunk + 1);
            for (int owner : owners) {
                foldPiece(chunk, owner);
            }
            steps.signal(Flags.PART_REDUCED, chunk + 1, farOwners(chunk, mates.rank()));
        }

        /** Folds the contributions of the own node to a piece and gives the sum to the owner. */
        private void foldPiece(int chunk, int owner) {
            int rank = mates.rank();
            long at = pieces.at(chunk, owner);
            long length = pieces.length(chunk, owner);
            Ref sum = sum(chunk, owner);
            if (!mates.none()) {
                List<Ref> sources =
                        steps.contributions(
                                mates.all(), steps.in(at), q -> pieces.staged(q, chunk, owner));
                steps.add(new Step.Fold(sum, sources, length, false));
            }
            if (owner != rank) {
                steps.put(nodeSum(chunk, owner), pieces.staged(rank, chunk, owner), length, owner);
            }
        }

        /** Folds the sums of all nodes to the own piece. */
        void fold(int chunk) {
            int rank = mates.rank();
            long length = pieces.length(chunk, rank);
            if (length == 0) {
                return;
            }
            int[] far = mates.farAgents();
            steps.awaitAll(far, Flags.PART_REDUCED, chunk + 1);
            Ref own = nodeSum(chunk, rank);
            List<Ref> sources =
                    steps.contributions(mates.ownAgents(), own, q -> pieces.staged(q, chunk, rank));
            Ref result = result(chunk, rank);
            steps.fold(result, sources, length);
            if (gathers()) {
                int[] readers = mates.othersAndFarAgents();
                steps.put(result, pieces.staged(rank, chunk, rank), length, readers);
                steps.signal(Flags.REDUCED, chunk + 1, far);
            }
        }

        void gather(int chunk) {
            relay(chunk);
            for (int mate : mates.others()) {
                for (int owner : owners(chunk, mate)) {
                    steps.await(mate, Flags.RELAYED, chunk + 1);
                    Ref src = pieces.staged(mate, chunk, owner);
                    steps.copy(result(chunk, owner), src, pieces.length(chunk, owner));
                }
            }
        }

        private void relay(int chunk) {
            int rank = mates.rank();
            for (int owner : farOwners(chunk, rank)) {
                long length = pieces.length(chunk, owner);
                Ref result = result(chunk, owner);
                steps.await(owner, Flags.REDUCED, chunk + 1);
                steps.copy(result, pieces.staged(owner, chunk, owner), length);
                steps.put(result, pieces.staged(rank, chunk, owner), length, mates.others());
            }
            if (owners(chunk, rank).length > 0) {
                steps.signal(Flags.RELAYED, chunk + 1, mates.others());
            }
        }
    }
}
